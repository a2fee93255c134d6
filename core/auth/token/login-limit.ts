import { LRUCache } from 'lru-cache'
import { GatewayError } from '../../errors.ts'
import { LOOPBACK_NETWORK, toNetwork } from '../../limits/client-network.ts'
import { type HashSlot, MAX_HASH_WAIT_MS, tooManyHashes } from './secret-hash.ts'

export interface LoginAttempt {
  readonly namespace: string
  readonly account: string
  /** IP address; empty if unknown. */
  readonly address: string
}

/** Rate limit for logins, which prevents password guessing. */
export interface LoginLimit {
  /**
   * Runs a login attempt. Concurrent attempts are limited to the remaining number of failures, so any number of callers
   * with the correct password may log in simultaneously. Attempts that throw 400 or 401 count as failures.
   *
   * @param logIn receives the slot for the password check: addresses are served round-robin, and addresses with an
   * earlier login have priority.
   * @param onDenied called when a limit rejects its first attempt per minute, not for later ones. @default no-op
   * @throws {GatewayError} 429 with the time of the next attempt after too many failures; 503 if too many attempts are
   * waiting, or an address without an earlier login waits longer than 5 s; errors from `logIn`.
   */
  readonly run: <T>(
    attempt: LoginAttempt,
    errorId: string,
    logIn: (slot: HashSlot) => Promise<T>,
    onDenied?: () => void,
  ) => Promise<T>
}

interface Bucket {
  failed: number
  pending: number
  hasRejected: boolean
  readonly endsMs: number
}

const WINDOW_MS = 60_000
/**
 * Maximum failures per minute: of an account from one address, of an account from all addresses, from one address, and
 * from unknown addresses.
 */
const PAIR_MAX = 5
const ACCOUNT_MAX = 50
const ADDRESS_MAX = 30
const UNKNOWN_ADDRESS_MAX = 300
/** Maximum number of entries; the oldest are evicted. Limited by size instead of `max` to allocate memory on demand. */
const CACHE_OPTIONS = { maxSize: 100_000, sizeCalculation: () => 1 } as const
const WAITING_MAX = 1000

export function createLoginLimit(nowMs: () => number): LoginLimit {
  const buckets = new LRUCache<string, Bucket>(CACHE_OPTIONS)
  /** Accounts and addresses with a successful login. Failures from other addresses do not lock them out. */
  const knownAddresses = new LRUCache<string, true>(CACHE_OPTIONS)
  /** Addresses with a successful login. */
  const seenAddresses = new LRUCache<string, true>(CACHE_OPTIONS)
  let waiting = new Set<() => void>()

  function open(name: string): Bucket {
    const now = nowMs()
    const existing = buckets.get(name)
    if (existing !== undefined && existing.endsMs > now) return existing
    const bucket = { failed: 0, pending: 0, hasRejected: false, endsMs: now + WINDOW_MS }
    buckets.set(name, bucket)
    return bucket
  }

  function toLimits(accountKey: string, pairKey: string, address: string, isLocal: boolean) {
    const limits: [Bucket, number][] = [
      [open(pairKey), PAIR_MAX],
      [open(` ${address}`), address === '' ? UNKNOWN_ADDRESS_MAX : ADDRESS_MAX],
    ]
    if (!knownAddresses.has(pairKey) && !isLocal) limits.push([open(accountKey), ACCOUNT_MAX])
    return limits
  }

  /** @param maxWaitMs undefined for an address with an earlier login, which only waits for its own attempts. */
  function wait(errorId: string, maxWaitMs: number | undefined): Promise<void> {
    const most = maxWaitMs === undefined ? 2 * WAITING_MAX : WAITING_MAX
    if (waiting.size >= most) throw tooManyHashes(errorId)
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined
      const resume = (): void => {
        clearTimeout(timer)
        resolve()
      }
      waiting.add(resume)
      if (maxWaitMs === undefined) return
      const onTimeout = (): void => {
        waiting.delete(resume)
        reject(tooManyHashes(errorId))
      }
      timer = setTimeout(onTimeout, Math.max(0, maxWaitMs))
    })
  }

  function settle(limits: readonly [Bucket, number][]): void {
    for (const [bucket] of limits) bucket.pending--
    const runnable = waiting
    waiting = new Set()
    for (const resume of runnable) resume()
  }

  return {
    async run({ namespace, account, address: from }, errorId, logIn, onDenied = () => {}) {
      const address = toNetwork(from)
      // Password guessing from other addresses must not lock out local operators.
      const isLocal = address === LOOPBACK_NETWORK
      const accountKey = `${namespace}/${account}`.slice(0, 400)
      const pairKey = `${accountKey} ${address}`
      const lastMs = nowMs() + MAX_HASH_WAIT_MS
      for (;;) {
        const limits = toLimits(accountKey, pairKey, address, isLocal)
        const exceeded = limits.find(([{ failed }, most]) => failed >= most)
        if (exceeded !== undefined) {
          const [bucket] = exceeded
          if (!bucket.hasRejected) onDenied()
          bucket.hasRejected = true
          throw tooMany(bucket.endsMs - nowMs(), errorId)
        }
        if (limits.some(([{ failed, pending }, most]) => failed + pending >= most)) {
          await wait(errorId, seenAddresses.has(address) ? undefined : lastMs - nowMs())
          continue
        }
        for (const [bucket] of limits) bucket.pending++
        try {
          const done = await logIn({
            key: address,
            hasPriority: seenAddresses.has(address),
            maxWaitMs: lastMs - nowMs(),
          })
          knownAddresses.set(pairKey, true)
          if (address !== '') seenAddresses.set(address, true)
          return done
        } catch (error) {
          if (isWrongSecret(error)) for (const [bucket] of limits) bucket.failed++
          throw error
        } finally {
          settle(limits)
        }
      }
    },
  }
}

function isWrongSecret(error: unknown): boolean {
  return error instanceof GatewayError && (error.code === 400 || error.code === 401)
}

function tooMany(waitMs: number, errorId: string): Error {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new GatewayError(errorId, 429, `too many failed logins; try again in ${seconds} s`, {
    headers: ['retry-after', String(seconds)],
  })
}
