import { MAX_ADVERTISED_BYTES, MAX_DESTINATIONS } from './limits.ts'
import type { RouteUpdate } from './messages.ts'
import { findServerId } from './names.ts'
import type { RouteTable } from './routing-table.ts'

export interface RouteAdvertiserOptions {
  readonly table: Pick<RouteTable, 'tell' | 'keys'>
  /** Id of the peer. */
  readonly peer: string
  /** Called once, when the limits of a peer are exceeded. */
  readonly onTooMuch: () => void
}

/** Routes to advertise to a peer: all at first, then changes; for each destination the state when it is sent. */
export interface RouteAdvertiser {
  /** Marks a destination as changed. */
  readonly mark: (key: string) => void
  readonly isPending: () => boolean
  /**
   * Returns updates of about `maxBytes` bytes, at least one; empty: none. Not to be called in the middle of a batch of
   * changes.
   *
   * Servers go before services and come after them: a peer knows a server only with all its services, and a service that
   * vanishes while its server stays was withdrawn.
   */
  readonly take: (maxBytes: number) => RouteUpdate[]
}

/** Overhead of an entry: key, path and metric. */
const NEWS_BYTES = 1500

export function createRouteAdvertiser({
  table,
  peer,
  onTooMuch,
}: RouteAdvertiserOptions): RouteAdvertiser {
  const servers = new Set<string>()
  const services = new Set<string>()
  /** Size of the peer's entries. */
  const told = new Map<string, number>()
  let toldBytes = 0
  /** Destinations omitted for lack of space. */
  const leftOut = new Set<string>()
  let isTooMuch = false

  for (const key of table.keys()) mark(key)

  function mark(key: string): void {
    const pending = findServerId(key) === undefined ? services : servers
    pending.add(key)
  }

  function* listPending(): Iterable<string> {
    for (const key of servers) if (table.tell(key, peer) === undefined) yield key
    yield* services
    yield* servers
  }

  /** Same limits as the peer. */
  function hasRoom(key: string, bytes: number): boolean {
    const size = told.has(key) ? told.size : told.size + 1
    // Services leave space for the servers that follow.
    const reserved = findServerId(key) === undefined ? servers.size : 0
    const total = toldBytes - (told.get(key) ?? 0) + bytes
    if (size + reserved <= MAX_DESTINATIONS && total <= MAX_ADVERTISED_BYTES) return true
    if (!isTooMuch) onTooMuch()
    isTooMuch = true
    leftOut.add(key)
    return false
  }

  function hold(key: string, bytes: number): void {
    toldBytes += bytes - (told.get(key) ?? 0)
    told.set(key, bytes)
  }

  function release(key: string): void {
    toldBytes -= told.get(key)!
    told.delete(key)
    for (const other of leftOut) mark(other)
    leftOut.clear()
  }

  return {
    mark,
    isPending: () => servers.size > 0 || services.size > 0,

    take(maxBytes) {
      const news: RouteUpdate[] = []
      let used = 0
      for (const key of listPending()) {
        const route = table.tell(key, peer)
        const bytes = route === undefined ? 0 : Buffer.byteLength(route.entry)
        if (news.length > 0 && used + bytes + NEWS_BYTES > maxBytes) break
        servers.delete(key)
        services.delete(key)
        leftOut.delete(key)
        const isTold = route !== undefined && hasRoom(key, bytes)
        if (!isTold && !told.has(key)) continue
        used += bytes + NEWS_BYTES
        if (isTold) hold(key, bytes)
        else release(key)
        news.push({ key, told: isTold ? route : undefined })
      }
      return news
    },
  }
}
