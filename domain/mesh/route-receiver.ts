import { MAX_ADVERTISED_BYTES, MAX_DESTINATIONS } from './limits.ts'
import type { RouteUpdate } from './messages.ts'
import { findServerId, isShared } from './names.ts'
import type { RouteTable } from './routing-table.ts'

/**
 * Creates a function that applies updates from a peer to the table, within limits.
 *
 * @param table table that contains the peer, without routes.
 * @throws {TypeError} (the returned function) for an invalid update.
 */
export function createRouteReceiver(
  table: Pick<RouteTable, 'applyRoute'>,
  peer: string,
): (updates: readonly RouteUpdate[]) => void {
  /** Sizes of its entries by destination. */
  const reserved = new Map<string, number>()
  let bufferedBytes = 0

  return (updates) => {
    for (const { key, advertised } of updates) {
      if (advertised !== undefined && advertised.path[0] !== peer)
        throw new TypeError(`path of ${key} must start with ${peer}, which advertises it`)
      // Built-in services exist on every server.
      if (findServerId(key) === undefined && !isShared(key)) continue
      bufferedBytes -= reserved.get(key) ?? 0
      reserved.delete(key)
      if (advertised !== undefined) {
        const bytes = Buffer.byteLength(advertised.entry)
        bufferedBytes += bytes
        reserved.set(key, bytes)
        if (reserved.size > MAX_DESTINATIONS || bufferedBytes > MAX_ADVERTISED_BYTES)
          throw new TypeError(
            `routes must have at most ${MAX_DESTINATIONS} entries with a total of ${MAX_ADVERTISED_BYTES} bytes`,
          )
      }
      table.applyRoute(peer, key, advertised)
    }
  }
}
