import { LRUCache } from 'lru-cache'
import { GatewayError } from '../../errors.ts'
import { LOOPBACK_NETWORK, toNetwork } from '../../limits/client-network.ts'
import { type HashSlot, MAX_HASH_WAIT_MS, tooManyHashes } from './secret-hash.ts'

/** Who tries to log in. */
export interface LoginAttempt {
  readonly namespace: string
  readonly account: string
  /** IP address; empty: it is not known. */
  readonly address: string
}

/** Keeps secrets from being guessed. */
export interface LoginLimit {
  /**
   * Does what may turn out to be a failed login. Of those at the same time only as many begin as may fail: whole crowds may log in
   * at once, as long as they know their secrets. What `logIn` throws with 400 or 401 is a failed login; the rest is nobody's guess.
   *
   * @param logIn gets whose turn it is to have a password checked: addresses take turns, those that have logged in before come first.
   * @param onRefused told when a limit refuses its first attempt of a minute, and of no other: what is refused costs nothing, and comes in any number. @default nobody
   * @throws {GatewayError} 429 saying when to try again, after too many that failed; 503 when too many wait, or an address that has not logged in before waits longer than 5 s; whatever `logIn` throws.
   */
  readonly run: <T>(
    attempt: LoginAttempt,
    errorId: string,
    logIn: (turn: HashSlot) => Promise<T>,
    onRefused?: () => void,
  ) => Promise<T>
}

interface Bucket {
  failed: number
  pending: number
  hasRefused: boolean
  readonly endsMs: number
}

const WINDOW_MS = 60_000
/** Failures a minute: of an account from one address, of an account from anywhere, from one address, and from all that have none. */
const OF_BOTH = 5
const OF_ACCOUNT = 50
const OF_ADDRESS = 30
const OF_UNKNOWN_ADDRESS = 300
/** More are forgotten, those first that failed longest ago. By size, one each: memory is taken as it is needed, not at the start. */
const REMEMBERED = { maxSize: 100_000, sizeCalculation: () => 1 } as const
const WAITING_MAX = 1000

/** @param nowMs unix time. */
export function createLoginLimit(nowMs: () => number): LoginLimit {
  const buckets = new LRUCache<string, Bucket>(REMEMBERED)
  /** Accounts and addresses that have logged in: whoever fails elsewhere does not lock them out. */
  const known = new LRUCache<string, true>(REMEMBERED)
  /** Addresses from which anybody has logged in. */
  const knownAddresses = new LRUCache<string, true>(REMEMBERED)
  let waiting = new Set<() => void>()

  function open(name: string): Bucket {
    const now = nowMs()
    const found = buckets.get(name)
    if (found !== undefined && found.endsMs > now) return found
    const bucket = { failed: 0, pending: 0, hasRefused: false, endsMs: now + WINDOW_MS }
    buckets.set(name, bucket)
    return bucket
  }

  function toLimits(ofAccount: string, both: string, address: string, isLocal: boolean) {
    const limits: [Bucket, number][] = [
      [open(both), OF_BOTH],
      [open(` ${address}`), address === '' ? OF_UNKNOWN_ADDRESS : OF_ADDRESS],
    ]
    if (!known.has(both) && !isLocal) limits.push([open(ofAccount), OF_ACCOUNT])
    return limits
  }

  /** @param maxWaitMs undefined: an address that has logged in before waits for others of its own only. */
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
    async run({ namespace, account, address: from }, errorId, logIn, onRefused = () => {}) {
      const address = toNetwork(from)
      // Guesses from elsewhere must not keep the operators out who are on the machine of the server itself.
      const isLocal = address === LOOPBACK_NETWORK
      const ofAccount = `${namespace}/${account}`.slice(0, 400)
      const both = `${ofAccount} ${address}`
      const lastMs = nowMs() + MAX_HASH_WAIT_MS
      for (;;) {
        const limits = toLimits(ofAccount, both, address, isLocal)
        const over = limits.find(([{ failed }, most]) => failed >= most)
        if (over !== undefined) {
          const [bucket] = over
          if (!bucket.hasRefused) onRefused()
          bucket.hasRefused = true
          throw tooMany(bucket.endsMs - nowMs(), errorId)
        }
        if (limits.some(([{ failed, pending }, most]) => failed + pending >= most)) {
          await wait(errorId, knownAddresses.has(address) ? undefined : lastMs - nowMs())
          continue
        }
        for (const [bucket] of limits) bucket.pending++
        try {
          const done = await logIn({
            key: address,
            hasPriority: knownAddresses.has(address),
            maxWaitMs: lastMs - nowMs(),
          })
          known.set(both, true)
          if (address !== '') knownAddresses.set(address, true)
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
