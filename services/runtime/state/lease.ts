import { commitIf } from '../../../domain/store/commit-if.ts'
import { decodeRecord, encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store } from '../../../domain/store/store.ts'
import { TABLE } from './records.ts'

export interface LeaseOptions {
  readonly store: Store
  /** Id of this server. A lease in its name is of an earlier process, and is taken over at once. */
  readonly holder: string
  /** Called when this server gets the lease, and when it loses it. */
  readonly onChange: (isHeld: boolean) => void
  /** Milliseconds a server without a sign of life keeps the lease. @default 15000 */
  readonly durationMs?: number
  /** Monotonic clock in milliseconds. @default performance.now */
  readonly elapsedMs?: () => number
}

/** The right to act on what several servers share: one server holds it at a time. */
export interface Lease {
  /** False as soon as another server may hold it: a third of the duration earlier. */
  readonly isHeld: () => boolean
  /** Tries to get it, and goes on trying and renewing until `close`. */
  readonly begin: () => Promise<void>
  /** Releases it: another server gets it at its next attempt. */
  readonly close: () => Promise<void>
}

interface LeaseRecord {
  /** Empty: released. */
  readonly holder: string
}

const KEY = 'lease'

/**
 * A lease in the store, as those of Kubernetes controllers: its record changes with each renewal, and a server takes it over that
 * has seen no change for the duration by its own clock. Clocks of different servers are never compared.
 */
export function createLease(options: LeaseOptions): Lease {
  const { store, holder, onChange, durationMs = 15_000 } = options
  const { elapsedMs = () => performance.now() } = options
  /** Version of the record as it was seen last, and since when it is unchanged. */
  let seen = { version: 0, sinceMs: 0 }
  let heldUntilMs = Number.NEGATIVE_INFINITY
  let wasHeld = false
  let timer: NodeJS.Timeout | undefined
  let attempt: Promise<void> = Promise.resolve()

  const isHeld = (): boolean => elapsedMs() < heldUntilMs

  /** False: another server was faster. */
  async function write(name: string): Promise<boolean> {
    const beganMs = elapsedMs()
    const value = encodeRecord({ holder: name } satisfies LeaseRecord)
    const write = { table: TABLE, key: KEY, value, ifVersion: seen.version }
    const [version] = (await commitIf(store, [write])) ?? []
    if (version === undefined) return false
    seen = { version, sinceMs: beganMs }
    heldUntilMs = name === holder ? beganMs + (durationMs * 2) / 3 : Number.NEGATIVE_INFINITY
    return true
  }

  /** Whether the lease is free, by the record in the store. */
  async function isFree(): Promise<boolean> {
    const record = await store.read(TABLE, KEY)
    const version = record?.version ?? 0
    if (version !== seen.version) seen = { version, sinceMs: elapsedMs() }
    if (record === undefined || elapsedMs() - seen.sinceMs >= durationMs) return true
    const { holder: name } = decodeRecord<LeaseRecord>(
      record,
      TABLE.table,
      ({ holder }) => typeof holder === 'string',
    )
    return name === '' || name === holder
  }

  async function renew(): Promise<void> {
    try {
      if (isHeld() && (await write(holder))) return
      heldUntilMs = Number.NEGATIVE_INFINITY
      if (await isFree()) await write(holder)
    } catch {
      // A store that is unavailable is reported by those who need it more; the lease ends by itself.
    }
  }

  function next(): Promise<void> {
    attempt = attempt.then(renew).then(() => {
      if (isHeld() === wasHeld) return
      wasHeld = !wasHeld
      onChange(wasHeld)
    })
    return attempt
  }

  return {
    isHeld,

    async begin() {
      await next()
      timer = setInterval(next, durationMs / 5).unref()
    },

    async close() {
      clearInterval(timer)
      await attempt
      if (!isHeld()) return
      heldUntilMs = Number.NEGATIVE_INFINITY
      await write('').catch(() => {})
    },
  }
}
