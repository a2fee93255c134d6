import { createBackOff } from '../core/back-off.ts'
import type { TokenSource } from '../core/contracts/token-source.ts'
import { GatewayError } from '../core/errors.ts'

/** What logging in is answered (reference 2.1). */
export interface LoginReply {
  readonly token: {
    readonly access_token: string
    /** Seconds since 1970. */
    readonly created: number
    /** Seconds since 1970. */
    readonly expiry: number
  }
}

export interface TokenSourceOptions {
  readonly logIn: () => Promise<LoginReply>
  /** Whether a log-in that is refused is no error: it goes without then. */
  readonly isGuess: boolean
  /** Milliseconds that only grow. @default performance.now */
  readonly nowMs?: () => number
}

/** A token that ends so soon is not used any more: the call has to get there. */
const SPARE_MS = 10_000

/** Always the same token. */
export function createFixedToken(token: string): TokenSource {
  return {
    current: () => token,
    leftMs: () => Number.POSITIVE_INFINITY,
    ready: () => undefined,
    refused: () => false,
  }
}

/** Logs in when a token is needed, and again in time, in the background of the calls that are made. */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { logIn, isGuess, nowMs = () => performance.now() } = options
  const backOff = createBackOff()
  let token: string | undefined
  let renewMs = 0
  let endsMs = 0
  /** The guess was wrong. */
  let isWithout = false
  let pending: Promise<void> | undefined
  let failure: GatewayError | undefined
  let retryMs = 0

  async function renew(): Promise<void> {
    try {
      const { token: told } = await logIn()
      const lifeMs = (told.expiry - told.created) * 1000
      const now = nowMs()
      token = told.access_token
      // The clocks of the two machines may differ: only the life matters.
      endsMs = now + Math.max(lifeMs - SPARE_MS, lifeMs / 2)
      renewMs = now + lifeMs / 2
      failure = undefined
      backOff.reset()
    } catch (error) {
      const reason = GatewayError.from(error, 'auth')
      isWithout = isGuess && reason.code < 500 && reason.code !== 408 && reason.code !== 429
      failure = reason
      retryMs = nowMs() + backOff.next()
      if (!isWithout) throw reason
    } finally {
      pending = undefined
    }
  }

  function begin(): Promise<void> {
    pending ??= renew()
    return pending
  }

  return {
    current: () => (nowMs() < endsMs ? token : undefined),

    leftMs: () => (isWithout ? Number.POSITIVE_INFINITY : Math.max(0, endsMs - nowMs())),

    ready() {
      if (isWithout) return undefined
      const now = nowMs()
      if (now < endsMs) {
        // What becomes of it is told to whoever comes when it has ended.
        if (now >= renewMs && now >= retryMs) begin().catch(() => {})
        return undefined
      }
      if (failure !== undefined && now < retryMs && pending === undefined)
        return Promise.reject(failure)
      return begin()
    },

    refused(shown) {
      if (shown === token) endsMs = 0
      return !isWithout
    },
  }
}
