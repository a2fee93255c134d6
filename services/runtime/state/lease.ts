import { commitIf } from '../../../domain/store/commit-if.ts'
import { decodeRecord, encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store } from '../../../domain/store/store.ts'
import { RUNTIME_TABLE } from './records.ts'

export interface LeaseOptions {
  readonly store: Store
  /**
   * Id of this server. A lease with this id belongs to an earlier process and is taken over
   * immediately.
   */
  readonly holder: string
  /** Called when this server acquires or loses the lease. */
  readonly onChange: (isLeader: boolean) => void
  /** Lease duration in milliseconds. @default 15000 */
  readonly durationMs?: number
  /** Monotonic clock in milliseconds. @default performance.now */
  readonly elapsedMs?: () => number
}

/** Leader lease: only one server at a time acts on shared workloads. */
export interface Lease {
  /**
   * Returns whether this server may act. Becomes false a third of the duration before another
   * server can acquire the lease.
   */
  readonly isLeader: () => boolean
  /** Acquires and renews the lease until `close`. */
  readonly begin: () => Promise<void>
  /** Releases the lease, so that another server acquires it on its next attempt. */
  readonly close: () => Promise<void>
}

interface LeaseRecord {
  readonly holder: string
}

const KEY = 'lease'

/**
 * A lease in the store, similar to the leases of Kubernetes controllers. Each renewal changes its
 * record. Another server takes over after it has observed no change for the lease duration on its
 * own clock. Clocks of different servers are never compared.
 */
export function createLease(options: LeaseOptions): Lease {
  const { store, holder, onChange, durationMs = 15_000 } = options
  const { elapsedMs = () => performance.now() } = options
  /** Version of the record when last read, and the time since which it has been unchanged. */
  let observed = { version: 0, sinceMs: 0 }
  let validUntilMs = Number.NEGATIVE_INFINITY
  let wasLeader = false
  let timer: NodeJS.Timeout | undefined
  let attempt: Promise<void> = Promise.resolve()

  const isLeader = (): boolean => elapsedMs() < validUntilMs

  /** Returns false if another server was faster. */
  async function write(name: string): Promise<boolean> {
    const beganMs = elapsedMs()
    const value = encodeRecord({ holder: name } satisfies LeaseRecord)
    const write = { table: RUNTIME_TABLE, key: KEY, value, ifVersion: observed.version }
    const [version] = (await commitIf(store, [write])) ?? []
    if (version === undefined) return false
    observed = { version, sinceMs: beganMs }
    validUntilMs = name === holder ? beganMs + (durationMs * 2) / 3 : Number.NEGATIVE_INFINITY
    return true
  }

  /** Returns whether the lease is free according to the store. */
  async function isFree(): Promise<boolean> {
    const record = await store.read(RUNTIME_TABLE, KEY)
    const version = record?.version ?? 0
    if (version !== observed.version) observed = { version, sinceMs: elapsedMs() }
    if (record === undefined || elapsedMs() - observed.sinceMs >= durationMs) return true
    const { holder: name } = decodeRecord<LeaseRecord>(
      record,
      RUNTIME_TABLE.table,
      ({ holder }) => typeof holder === 'string',
    )
    return name === '' || name === holder
  }

  async function renew(): Promise<void> {
    try {
      if (isLeader() && (await write(holder))) return
      validUntilMs = Number.NEGATIVE_INFINITY
      if (await isFree()) await write(holder)
    } catch {
      // Other components report an unavailable store. The lease expires by itself.
    }
  }

  function next(): Promise<void> {
    attempt = attempt.then(renew).then(() => {
      if (isLeader() === wasLeader) return
      wasLeader = !wasLeader
      onChange(wasLeader)
    })
    return attempt
  }

  return {
    isLeader,

    async begin() {
      await next()
      timer = setInterval(next, durationMs / 5).unref()
    },

    async close() {
      clearInterval(timer)
      await attempt
      if (!isLeader()) return
      validUntilMs = Number.NEGATIVE_INFINITY
      await write('').catch(() => {})
    },
  }
}
