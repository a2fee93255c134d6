import { MAX_ADVERTISED_BYTES, MAX_DESTINATIONS } from './limits.ts'
import type { RouteUpdate } from './messages.ts'
import { findServerId } from './names.ts'
import type { RouteTable } from './routing-table.ts'

export interface RouteAdvertiserOptions {
  readonly table: Pick<RouteTable, 'advertise' | 'keys'>
  /** Id of the peer. */
  readonly peer: string
  /** Called once when the limits of a peer are exceeded. */
  readonly onTooMuch: () => void
}

/**
 * Routes to advertise to a peer: initially all routes, then changes. Each destination is advertised
 * with its state at the time of sending.
 */
export interface RouteAdvertiser {
  /** Marks a destination as changed. */
  readonly mark: (key: string) => void
  readonly isPending: () => boolean
  /**
   * Returns updates of about `maxBytes` bytes, at least one, or an empty list without updates.
   * Must not be called in the middle of a batch of changes.
   *
   * Servers are withdrawn before their services and advertised after them. A peer therefore knows a
   * server only together with all its services, and a service that disappears while its server
   * remains was withdrawn.
   */
  readonly take: (maxBytes: number) => RouteUpdate[]
}

/** Overhead of an entry in bytes: key, path and metric. */
const UPDATE_BYTES = 1500

export function createRouteAdvertiser({
  table,
  peer,
  onTooMuch,
}: RouteAdvertiserOptions): RouteAdvertiser {
  const servers = new Set<string>()
  const services = new Set<string>()
  /** Sizes of the peer's entries. */
  const advertised = new Map<string, number>()
  let advertisedBytes = 0
  /** Destinations omitted because of the limits. */
  const leftOut = new Set<string>()
  let isTooMuch = false

  for (const key of table.keys()) mark(key)

  function mark(key: string): void {
    const pending = findServerId(key) === undefined ? services : servers
    pending.add(key)
  }

  function* listPending(): Iterable<string> {
    for (const key of servers) if (table.advertise(key, peer) === undefined) yield key
    yield* services
    yield* servers
  }

  /** Applies the same limits as the peer. */
  function hasRoom(key: string, bytes: number): boolean {
    const size = advertised.has(key) ? advertised.size : advertised.size + 1
    // Services leave space for the servers that follow.
    const reserved = findServerId(key) === undefined ? servers.size : 0
    const total = advertisedBytes - (advertised.get(key) ?? 0) + bytes
    if (size + reserved <= MAX_DESTINATIONS && total <= MAX_ADVERTISED_BYTES) return true
    if (!isTooMuch) onTooMuch()
    isTooMuch = true
    leftOut.add(key)
    return false
  }

  function reserve(key: string, bytes: number): void {
    advertisedBytes += bytes - (advertised.get(key) ?? 0)
    advertised.set(key, bytes)
  }

  function release(key: string): void {
    advertisedBytes -= advertised.get(key)!
    advertised.delete(key)
    for (const other of leftOut) mark(other)
    leftOut.clear()
  }

  return {
    mark,
    isPending: () => servers.size > 0 || services.size > 0,

    take(maxBytes) {
      const updates: RouteUpdate[] = []
      let used = 0
      for (const key of listPending()) {
        const route = table.advertise(key, peer)
        const bytes = route === undefined ? 0 : Buffer.byteLength(route.entry)
        if (updates.length > 0 && used + bytes + UPDATE_BYTES > maxBytes) break
        servers.delete(key)
        services.delete(key)
        leftOut.delete(key)
        const isAdvertised = route !== undefined && hasRoom(key, bytes)
        if (!isAdvertised && !advertised.has(key)) continue
        used += bytes + UPDATE_BYTES
        if (isAdvertised) reserve(key, bytes)
        else release(key)
        updates.push({ key, advertised: isAdvertised ? route : undefined })
      }
      return updates
    },
  }
}
