import { MAX_ADVERTISED_BYTES, MAX_DESTINATIONS } from './limits.ts'
import type { RouteUpdate } from './messages.ts'
import { findServerId } from './names.ts'
import type { RouteTable } from './routing-table.ts'

export interface RouteAdvertiserOptions {
  readonly table: Pick<RouteTable, 'tell' | 'keys'>
  /** Who is told. */
  readonly peer: string
  /** Told once, when there is more than a peer may be told. */
  readonly onTooMuch: () => void
}

/** What one peer is told: everything at first, then what changes; of each destination what holds when it is taken. */
export interface RouteAdvertiser {
  /** Takes note that a destination may have changed. */
  readonly mark: (key: string) => void
  readonly isPending: () => boolean
  /**
   * News of some `maxBytes` bytes, one piece at least; empty: there are none. Not to be called while several changes are made.
   *
   * Servers go before services, and come after them: so the peer knows a server only with all its services, and a service that goes while its
   * server stays was withdrawn.
   */
  readonly take: (maxBytes: number) => RouteUpdate[]
}

/** Beside the entry: key, path and metric. */
const NEWS_BYTES = 1500

export function createRouteAdvertiser({
  table,
  peer,
  onTooMuch,
}: RouteAdvertiserOptions): RouteAdvertiser {
  const servers = new Set<string>()
  const services = new Set<string>()
  /** Bytes of what the peer holds. */
  const told = new Map<string, number>()
  let toldBytes = 0
  /** What there was no room for. */
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

  /** The same bounds as the peer has. */
  function hasRoom(key: string, bytes: number): boolean {
    const size = told.has(key) ? told.size : told.size + 1
    // Services leave room for the servers that come after them.
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
