import { LRUCache } from 'lru-cache'
import { GatewayError } from '../../errors.ts'
import { LOOPBACK_NETWORK, toNetwork } from '../../limits/client-network.ts'
import { type HashSlot, MAX_HASH_WAIT_MS, tooManyHashes } from './secret-hash.ts'

export interface LoginAttempt {
  readonly namespace: string
  readonly account: string
  /** IP address; empty: unknown. */
  readonly address: string
}

/** Rate limit of logins, against guessing of passwords. */
export interface LoginLimit {
  /**
   * Runs a login attempt. No more attempts run concurrently than may still fail: any number of callers with the right
   * password may log in at once. Attempts that throw 400 or 401 count as failed.
   *
   * @param logIn gets the slot for the password check: addresses take turns, addresses that logged in before have
   * priority.
   * @param onDenied called when a limit rejects its first attempt of a minute, and not for the others. @default no-op
   * @throws {GatewayError} 429 with the time of the next attempt, after too many failures; 503 when too many attempts
   * wait, or an address without an earlier login waits longer than 5 s; errors of `logIn`.
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
 * Failures per minute: of an account from one address, of an account from all addresses, from one address, and from
 * unknown addresses.
 */
const OF_BOTH = 5
const OF_ACCOUNT = 50
const OF_ADDRESS = 30
const OF_UNKNOWN_ADDRESS = 300
/** Maximum entries, the oldest are evicted. By size, one each: memory is allocated on demand. */
const CACHE_OPTIONS = { maxSize: 100_000, sizeCalculation: () => 1 } as const
const WAITING_MAX = 1000

export function createLoginLimit(nowMs: () => number): LoginLimit {
  const buckets = new LRUCache<string, Bucket>(CACHE_OPTIONS)
  /** Accounts and addresses that have logged in: failures elsewhere do not lock them out. */
  const seen = new LRUCache<string, true>(CACHE_OPTIONS)
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

  function toLimits(ofAccount: string, both: string, address: string, isLocal: boolean) {
    const limits: [Bucket, number][] = [
      [open(both), OF_BOTH],
      [open(` ${address}`), address === '' ? OF_UNKNOWN_ADDRESS : OF_ADDRESS],
    ]
    if (!seen.has(both) && !isLocal) limits.push([open(ofAccount), OF_ACCOUNT])
    return limits
  }

  /** @param maxWaitMs undefined: an address with an earlier login only waits for its own attempts. */
  function wait(errorId: string, maxWaitMs: number | undefined): Promise<void> {
    const most = maxWaitMs === undefined ? 2 * WAITING_MAX : WAITING_MAX
    if (waiting.size >= most) throw tooManyHashes(errorId)
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined
      const wake = (): void => {
        clearTimeout(timer)
        resolve()
      }
      waiting.add(wake)
      if (maxWaitMs === undefined) return
      const giveUp = (): void => {
        waiting.delete(wake)
        reject(tooManyHashes(errorId))
      }
      timer = setTimeout(giveUp, Math.max(0, maxWaitMs))
    })
  }

  function settle(limits: readonly [Bucket, number][]): void {
    for (const [bucket] of limits) bucket.pending--
    const woken = waiting
    waiting = new Set()
    for (const wake of woken) wake()
  }

  return {
    async run({ namespace, account, address: from }, errorId, logIn, onDenied = () => {}) {
      const address = toNetwork(from)
      // Guessing from elsewhere must not lock out operators on the machine of the server.
      const isLocal = address === LOOPBACK_NETWORK
      const ofAccount = `${namespace}/${account}`.slice(0, 400)
      const both = `${ofAccount} ${address}`
      const lastMs = nowMs() + MAX_HASH_WAIT_MS
      for (;;) {
        const limits = toLimits(ofAccount, both, address, isLocal)
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
          seen.set(both, true)
          if (address !== '') seenAddresses.set(address, true)
          return done
        } catch (error) {
          if (isWrong(error)) for (const [bucket] of limits) bucket.failed++
          throw error
        } finally {
          settle(limits)
        }
      }
    },
  }
}

function isWrong(error: unknown): boolean {
  return error instanceof GatewayError && (error.code === 400 || error.code === 401)
}

function tooMany(waitMs: number, errorId: string): Error {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new GatewayError(errorId, 429, `too many failed logins, try again in ${seconds} s`, {
    headers: ['retry-after', String(seconds)],
  })
}
