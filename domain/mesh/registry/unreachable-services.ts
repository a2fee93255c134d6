import type { Service } from '../../../core/contracts/registry.ts'
import { MAX_ADVERTISED_BYTES, MAX_DESTINATIONS } from '../limits.ts'

/** A service of other servers that cannot be reached. */
export interface UnreachableService {
  readonly name: string
  /** Its versions, without nodes. */
  readonly services: readonly Service[]
  /** Ids of the servers that had it. */
  readonly owners: readonly string[]
  /** Bytes that describe it. */
  readonly bytes: number
  /** How long it has been lost, milliseconds. */
  readonly ageMs: number
}

/**
 * Services that are lost: kept for a day, and for 95 s once all servers that had them are reachable again. There are at most as many, and
 * as long ones, as one peer may announce; the oldest make room.
 */
export interface UnreachableServices {
  readonly get: (name: string) => UnreachableService | undefined
  readonly list: () => UnreachableService[]
  /** @returns names of services that are forgotten for want of room. */
  readonly add: (lost: UnreachableService) => string[]
  readonly release: (name: string) => void
  /** Forgets services. @returns their names. */
  readonly expire: () => string[]
}

export interface UnreachableServicesOptions {
  /** Whether there is a way to a server. */
  readonly isReachable: (server: string) => boolean
  /** Milliseconds that only grow. */
  readonly nowMs: () => number
}

interface Entry {
  readonly lost: UnreachableService
  readonly sinceMs: number
  /** Since when all owners are reachable; undefined: some are not. */
  backMs: number | undefined
}

/** A service of a server that was restarted registers within its heartbeat of 30 s, and the TTL of a service is 90 s. */
const BACK_MS = 95_000
const LOST_MS = 24 * 60 * 60_000

export function createUnreachableServices({
  isReachable,
  nowMs,
}: UnreachableServicesOptions): UnreachableServices {
  /** The oldest first. */
  const entries = new Map<string, Entry>()
  let bytes = 0

  function release(name: string): void {
    bytes -= entries.get(name)?.lost.bytes ?? 0
    entries.delete(name)
  }

  const toLost = ({ lost, sinceMs }: Entry): UnreachableService => ({
    ...lost,
    ageMs: nowMs() - sinceMs,
  })

  return {
    get: (name) => entries.get(name)?.lost,
    list: () => Array.from(entries.values(), toLost),
    release,

    add(lost) {
      release(lost.name)
      entries.set(lost.name, { lost, sinceMs: nowMs() - lost.ageMs, backMs: undefined })
      bytes += lost.bytes
      const forgotten: string[] = []
      for (const name of entries.keys()) {
        if (entries.size <= MAX_DESTINATIONS && bytes <= MAX_ADVERTISED_BYTES) break
        release(name)
        forgotten.push(name)
      }
      return forgotten
    },

    expire() {
      const now = nowMs()
      const forgotten: string[] = []
      for (const [name, entry] of entries) {
        entry.backMs = entry.lost.owners.every(isReachable) ? (entry.backMs ?? now) : undefined
        const isBack = entry.backMs !== undefined && now - entry.backMs >= BACK_MS
        if (!isBack && now - entry.sinceMs < LOST_MS) continue
        release(name)
        forgotten.push(name)
      }
      return forgotten
    },
  }
}
