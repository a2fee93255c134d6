import type { TokenSource } from '../../core/contracts/token-source.ts'
import { GatewayError } from '../../core/errors.ts'
import { createBackOff } from '../../lib/async/backoff.ts'

/** What logging in is answered (reference 2.1). */
export interface LoginReply {
  readonly token: {
    readonly access_token: string
    /** Gets the next one, once. */
    readonly refresh_token: string
    /** Seconds since 1970. */
    readonly created: number
    /** Seconds since 1970. */
    readonly expiry: number
  }
}

export interface TokenSourceOptions {
  /** By what proves who it is, which takes the service a tenth of a second. */
  readonly logIn: () => Promise<LoginReply>
  /** By a refresh token, which takes next to nothing. */
  readonly refresh: (refreshToken: string) => Promise<LoginReply>
  /** Whether a log-in that is refused is no error: it goes without then, and tries again later. */
  readonly isGuess: boolean
  /** Milliseconds that only grow. @default performance.now */
  readonly nowMs?: () => number
}

/** A token that ends so soon is not used any more: the call has to get there. */
const SPARE_MS = 10_000
/** What a refresh token is refused with that is good for nothing any more, or denied by rules. */
const REFUSALS: readonly number[] = [400, 401]

/** Always the same token. */
export function createFixedToken(token: string): TokenSource {
  return {
    current: () => token,
    leftMs: () => Number.POSITIVE_INFINITY,
    ready: () => undefined,
    refused: () => false,
  }
}

/**
 * Logs in when a token is needed, and refreshes it in time, in the background of the calls that are made, one attempt at a time. Where
 * refreshing is refused it logs in again, and so does the next attempt where it is not known what became of it: a refresh token
 * that is used twice looks stolen.
 */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { logIn, refresh, isGuess, nowMs = () => performance.now() } = options
  const backOff = createBackOff()
  let token: string | undefined
  let refreshToken: string | undefined
  let renewMs = 0
  let endsMs = 0
  /** The guess was wrong. */
  let isWithout = false
  let pending: Promise<void> | undefined
  let failure: GatewayError | undefined
  let retryMs = 0

  async function ask(): Promise<LoginReply> {
    const shown = refreshToken
    refreshToken = undefined
    if (shown === undefined) return logIn()
    return refresh(shown).catch((error: unknown) => {
      if (error instanceof GatewayError && REFUSALS.includes(error.code)) return logIn()
      throw error
    })
  }

  async function renew(): Promise<void> {
    try {
      const { token: told } = await ask()
      const lifeMs = (told.expiry - told.created) * 1000
      const now = nowMs()
      token = told.access_token
      refreshToken = told.refresh_token
      // The clocks of the two machines may differ: only the life matters.
      endsMs = now + Math.max(lifeMs - SPARE_MS, lifeMs / 2)
      renewMs = now + lifeMs / 2
      failure = undefined
      isWithout = false
      backOff.reset()
    } catch (error) {
      const reason = GatewayError.from(error, 'auth')
      isWithout = isGuess && isRejected(reason)
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
    isGuess,

    current: () => (nowMs() < endsMs ? token : undefined),

    leftMs: () => (isWithout ? Number.POSITIVE_INFINITY : Math.max(0, endsMs - nowMs())),

    ready() {
      const now = nowMs()
      if (isWithout && now < retryMs) return undefined
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

/** Whether logging in was refused, and not only put off. */
export function isRejected({ code }: GatewayError): boolean {
  return code < 500 && code !== 408 && code !== 429
}
