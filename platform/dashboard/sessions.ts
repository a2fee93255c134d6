import { randomBytes } from 'node:crypto'
import { decodeJwt } from 'jose'
import { LRUCache } from 'lru-cache'
import { isInvalidToken } from '../../core/auth/policy/decision.ts'
import type { Account } from '../../core/contracts/auth.ts'
import { GatewayError } from '../../core/errors.ts'
import { type CallBridge, callUnary } from './call-bridge.ts'
import { ID } from './id.ts'

/** A login session. The browser stores only its id; the tokens remain in this process. */
export interface Session {
  /** 256 random bits in base64url. */
  readonly id: string
  /** Current access token. */
  readonly token: string
}

/** Public view of a session. */
export interface SessionView {
  readonly account: Account
  /** Namespace of the account. */
  readonly namespace: string
  /** Time at which the session expires unless renewed, Unix time in milliseconds. */
  readonly expires: number
}

export interface Credentials {
  readonly id: string
  readonly secret: string
  /** Namespace of the account; empty for the default namespace. */
  readonly namespace: string
}

export interface SessionsOptions {
  readonly callBridge: CallBridge
  /** Idle timeout in milliseconds, at most 2^31 - 1. */
  readonly idleTimeoutMs: number
  /** Maximum lifetime of a session in milliseconds. */
  readonly maxAgeMs: number
  /** Called once for each ended session. */
  readonly onEnd: (session: Session) => void
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
}

/**
 * In-memory sessions of the dashboard. All sessions end on a restart. When there are more than 10
 * 000 sessions, the least recently used one ends.
 */
export interface Sessions {
  /**
   * Logs in.
   *
   * @throws {GatewayError} 401 for an invalid id or password, 429 after too many attempts, 503
   */
  readonly begin: (credentials: Credentials, address: string) => Promise<Session>
  /** Returns undefined for an unknown or ended session. */
  readonly find: (id: string) => Session | undefined
  /** Restarts the idle timeout. */
  readonly touch: (session: Session) => void
  /** Returns whether the access token has expired. {@link check} renews it. */
  readonly isStale: (session: Session) => boolean
  /**
   * Checks that the tokens are still valid. Renews the access token after half of its lifetime.
   *
   * @throws {GatewayError} 401 if the session has ended, 503
   */
  readonly check: (session: Session, address: string) => Promise<void>
  /** Ends the session and revokes its tokens. */
  readonly end: (session: Session, address: string) => Promise<void>
  readonly toView: (session: Session) => SessionView
  /** Ends all sessions without revoking their tokens. */
  readonly close: () => void
}

interface TokenReply {
  readonly token: { readonly access_token: string; readonly refresh_token: string }
}

interface OpenSession extends Session {
  token: string
  refreshToken: string
  readonly startedMs: number
  usedMs: number
  timer: NodeJS.Timeout | undefined
  /** Token exchange in flight. */
  renewal: Promise<void> | undefined
}

const ID_BYTES = 32
const SESSIONS_MAX = 10_000
/**
 * Fraction of its lifetime after which an access token is exchanged. Pages check at two thirds of
 * it, so one exchange serves several tabs.
 */
const RENEW_AFTER = 0.5

export function createSessions(options: SessionsOptions): Sessions {
  const { callBridge, idleTimeoutMs, maxAgeMs, onEnd, nowMs = Date.now } = options
  const sessions = new LRUCache<string, OpenSession>({
    max: SESSIONS_MAX,
    dispose(session) {
      clearTimeout(session.timer)
      onEnd(session)
    },
  })

  const callAuth = <T>(endpoint: string, request: object, address: string, token?: string) =>
    callUnary<T>(callBridge, { service: 'auth', endpoint, request, address, token })

  const toEndMs = ({ startedMs, usedMs }: OpenSession): number =>
    Math.min(startedMs + maxAgeMs, usedMs + idleTimeoutMs)

  function watch(session: OpenSession): void {
    const remainingMs = toEndMs(session) - nowMs()
    // A clock that has been set back must not overflow the timer.
    if (remainingMs > 0)
      session.timer = setTimeout(watch, Math.min(remainingMs, idleTimeoutMs), session).unref()
    else sessions.delete(session.id)
  }

  async function exchange(session: OpenSession, address: string): Promise<void> {
    const request = { refresh_token: session.refreshToken }
    const { token } = await callAuth<TokenReply>('Auth.Token', request, address)
    session.token = token.access_token
    session.refreshToken = token.refresh_token
  }

  async function inspect({ token }: Session, address: string): Promise<void> {
    try {
      await callAuth('Auth.Inspect', { token }, address, token)
    } catch (error) {
      // For other 401 errors, the token is valid but a rule denies the call.
      if ((error as GatewayError).code !== 401 || isInvalidToken(error as GatewayError)) throw error
    }
  }

  return {
    async begin({ id, secret, namespace }, address) {
      const request = { id, secret, options: { namespace } }
      const { token } = await callAuth<TokenReply>('Auth.Token', request, address).catch(
        (error) => {
          throw error.code === 400 ? unauthorized('invalid id or password', error) : error
        },
      )
      const session: OpenSession = {
        id: randomBytes(ID_BYTES).toString('base64url'),
        token: token.access_token,
        refreshToken: token.refresh_token,
        startedMs: nowMs(),
        usedMs: nowMs(),
        timer: undefined,
        renewal: undefined,
      }
      sessions.set(session.id, session)
      watch(session)
      return session
    },

    find(id) {
      const session = sessions.get(id)
      if (session === undefined || nowMs() < toEndMs(session)) return session
      sessions.delete(id)
      return undefined
    },

    touch({ id }) {
      const session = sessions.get(id)
      if (session !== undefined) session.usedMs = nowMs()
    },

    isStale: ({ token }) => nowMs() >= toExpiryMs(token),

    async check({ id }, address) {
      const session = sessions.get(id)
      if (session === undefined) throw unauthorized(ENDED)
      try {
        if (isPastHalfLife(session.token, nowMs())) {
          session.renewal ??= exchange(session, address).finally(() => {
            session.renewal = undefined
          })
          await session.renewal
        } else await inspect(session, address)
      } catch (error) {
        const isRejected =
          error instanceof GatewayError && (error.code === 400 || isInvalidToken(error))
        if (!isRejected) throw error
        sessions.delete(id)
        throw unauthorized(ENDED, error)
      }
      // A logout during the check ends the session.
      if (sessions.peek(id) !== session) throw unauthorized(ENDED)
    },

    async end({ id }, address) {
      const session = sessions.get(id)
      if (session === undefined) return
      sessions.delete(id)
      const request = { token: session.refreshToken }
      await callAuth('Auth.Revoke', request, address, session.token)
    },

    toView(session) {
      const claims = decodeJwt<Pick<Account, 'name' | 'type' | 'scopes' | 'metadata'>>(
        session.token,
      )
      const { sub = '', iss = '', name, type, scopes, metadata } = claims
      return {
        account: { id: sub, name, type, issuer: iss, scopes, metadata },
        namespace: iss,
        expires: Math.min(toExpiryMs(session.token), toEndMs(session as OpenSession)),
      }
    },

    close: () => sessions.clear(),
  }
}

const ENDED = 'session expired; log in again'

function toExpiryMs(token: string): number {
  return (decodeJwt(token).exp ?? 0) * 1000
}

function isPastHalfLife(token: string, nowMs: number): boolean {
  const { iat = 0, exp = 0 } = decodeJwt(token)
  return nowMs / 1000 >= iat + (exp - iat) * RENEW_AFTER
}

function unauthorized(detail: string, cause?: unknown): GatewayError {
  return new GatewayError(ID, 401, detail, { cause })
}
