import type { TokenSource } from '../../core/contracts/token-source.ts'
import { GatewayError } from '../../core/errors.ts'
import { createBackOff } from '../../lib/async/backoff.ts'

/** Response to a login (reference 2.1). */
export interface LoginReply {
  readonly token: {
    readonly access_token: string
    /** Single-use token for obtaining the next access token. */
    readonly refresh_token: string
    /** Seconds since 1970. */
    readonly created: number
    /** Seconds since 1970. */
    readonly expiry: number
  }
}

export interface TokenSourceOptions {
  /** Logs in with the credentials, which costs the service about 0.1 s. */
  readonly logIn: () => Promise<LoginReply>
  /** Uses a refresh token, which is cheap. */
  readonly refresh: (refreshToken: string) => Promise<LoginReply>
  /** If true, a rejected login is not an error: calls are anonymous, and the login is retried later. */
  readonly isImplicit: boolean
  /** Monotonic clock, milliseconds. @default performance.now */
  readonly nowMs?: () => number
}

/** Tokens are renewed this long before they expire. */
const RENEW_BEFORE_MS = 10_000
/** Statuses of an invalid or denied refresh token. */
const REJECTED_STATUSES: readonly number[] = [400, 401]

export function createFixedToken(token: string): TokenSource {
  return {
    current: () => token,
    remainingMs: () => Number.POSITIVE_INFINITY,
    ready: () => undefined,
    isRejected: () => false,
  }
}

/**
 * Logs in when a token is needed, and refreshes the token in the background before it expires, one attempt at a time.
 * Logs in again if the refresh is rejected or its outcome is unknown, because a reused refresh token is treated as
 * stolen.
 */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { logIn, refresh, isImplicit, nowMs = () => performance.now() } = options
  const backOff = createBackOff()
  let token: string | undefined
  let refreshToken: string | undefined
  let renewMs = 0
  let endsMs = 0
  /** True if the implicit credentials were rejected. */
  let isAnonymous = false
  let pending: Promise<void> | undefined
  let failure: GatewayError | undefined
  let retryMs = 0

  async function login(): Promise<LoginReply> {
    const presented = refreshToken
    refreshToken = undefined
    if (presented === undefined) return logIn()
    return refresh(presented).catch((error: unknown) => {
      if (error instanceof GatewayError && REJECTED_STATUSES.includes(error.code)) return logIn()
      throw error
    })
  }

  async function renew(): Promise<void> {
    try {
      const { token: issued } = await login()
      const lifeMs = (issued.expiry - issued.created) * 1000
      const now = nowMs()
      token = issued.access_token
      refreshToken = issued.refresh_token
      // Only the lifetime counts, because the clocks of the two machines may differ.
      endsMs = now + Math.max(lifeMs - RENEW_BEFORE_MS, lifeMs / 2)
      renewMs = now + lifeMs / 2
      failure = undefined
      isAnonymous = false
      backOff.reset()
    } catch (error) {
      const reason = GatewayError.from(error, 'auth')
      isAnonymous = isImplicit && isRejected(reason)
      failure = reason
      retryMs = nowMs() + backOff.next()
      if (!isAnonymous) throw reason
    } finally {
      pending = undefined
    }
  }

  function begin(): Promise<void> {
    pending ??= renew()
    return pending
  }

  return {
    isGuess: isImplicit,

    current: () => (nowMs() < endsMs ? token : undefined),

    remainingMs: () => (isAnonymous ? Number.POSITIVE_INFINITY : Math.max(0, endsMs - nowMs())),

    ready() {
      const now = nowMs()
      if (isAnonymous && now < retryMs) return undefined
      if (now < endsMs) {
        // Failures are reported to callers once the token has expired.
        if (now >= renewMs && now >= retryMs) begin().catch(() => {})
        return undefined
      }
      if (failure !== undefined && now < retryMs && pending === undefined)
        return Promise.reject(failure)
      return begin()
    },

    isRejected(presented) {
      if (presented === token) endsMs = 0
      return !isAnonymous
    },
  }
}

/** True if the login was rejected, rather than delayed. */
export function isRejected({ code }: GatewayError): boolean {
  return code < 500 && code !== 408 && code !== 429
}
