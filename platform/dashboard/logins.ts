import { decodeJwt } from 'jose'
import { LRUCache } from 'lru-cache'
import { isNotTaken } from '../../core/auth/authorize.ts'
import type { Account } from '../../core/contracts/auth.ts'
import { GatewayError } from '../../core/errors.ts'
import { ask, type Carry } from './carry.ts'
import { ID } from './id.ts'

/** Somebody who is logged in. */
export interface Login {
  /** The newest access token. */
  readonly token: string
}

/** Who is logged in, as pages are told. */
export interface LoginView {
  readonly account: Account
  /** Of the account. */
  readonly namespace: string
  /** When it ends unless it is renewed, Unix time. */
  readonly expires: number
}

export interface Credentials {
  readonly id: string
  readonly secret: string
  /** Empty: the default one. */
  readonly namespace: string
}

/**
 * Logins by the dashboard. Refresh tokens stay here, in memory: a browser has its access token only. So whoever steals a cookie
 * has it for minutes; and after a restart nobody is logged out before the access token ends, but then.
 */
export interface Logins {
  /** @throws {GatewayError} 401 for a wrong id or secret, 429 after too many; 503 */
  readonly begin: (credentials: Credentials, address: string) => Promise<Login>
  /** The login an access token of this process belongs to, whether that is still taken or not. */
  readonly recall: (token: string) => Login | undefined
  /** The login an access token belongs to, as long as the token is taken. @throws {GatewayError} 401; 503 */
  readonly find: (token: string, address: string) => Promise<Login>
  /** Gives a login that is found a new token, where it is time. @throws {GatewayError} 401 when it has ended meanwhile; 503 */
  readonly renew: (login: Login, address: string) => Promise<void>
  /** Has all its tokens count for nothing. @throws {GatewayError} 503 and others: it has not ended. */
  readonly end: (login: Login, address: string) => Promise<void>
}

interface TokenReply {
  readonly token: { readonly access_token: string; readonly refresh_token: string }
}

interface KeptLogin extends Login {
  token: string
  refreshToken: string
  /** It is being exchanged. */
  renewing: Promise<void> | undefined
}

/** Access tokens whose logins are known; those used longest ago are forgotten first. */
const TOKENS_MAX = 10_000
/** Of its life, what must be over before a token is exchanged: of several tabs that ask, the others get the new one. */
const RENEW_AFTER = 0.5

/** @param nowMs Unix time. */
export function createLogins(carry: Carry, nowMs: () => number = Date.now): Logins {
  const byToken = new LRUCache<string, KeptLogin>({ max: TOKENS_MAX })

  const askAuth = <T>(endpoint: string, request: object, address: string, token?: string) =>
    ask<T>(carry, { service: 'auth', endpoint, request, address, token })

  function keep(login: KeptLogin, { token }: TokenReply): void {
    login.token = token.access_token
    login.refreshToken = token.refresh_token
    const ttl = Math.max(1, toExpiry(login.token) - nowMs())
    byToken.set(login.token, login, { ttl })
  }

  async function exchange(login: KeptLogin, address: string): Promise<void> {
    try {
      const request = { refresh_token: login.refreshToken }
      keep(login, await askAuth('Auth.Token', request, address))
    } catch (error) {
      throw toRefused(error, 'the login has ended: log in again')
    }
  }

  return {
    async begin({ id, secret, namespace }, address) {
      const request = { id, secret, options: { namespace } }
      const login = { token: '', refreshToken: '', renewing: undefined }
      try {
        keep(login, await askAuth('Auth.Token', request, address))
      } catch (error) {
        throw toRefused(error, 'id or secret not correct', [400])
      }
      return login
    },

    recall: (token) => byToken.get(token),

    async find(token, address) {
      try {
        await askAuth('Auth.Inspect', { token }, address, token)
      } catch (error) {
        const { code } = error as GatewayError
        const isRefused = code === 400 || isNotTaken(error as GatewayError)
        if (isRefused) throw toRefused(error, 'the login has ended: log in again')
        // Denied by a rule: by then it was found out whose token it is.
        if (code !== 401) throw error
      }
      return byToken.get(token) ?? { token }
    },

    async renew(login, address) {
      const kept = byToken.get(login.token)
      if (kept === undefined || !isHalfOver(kept.token, nowMs())) return
      kept.renewing ??= exchange(kept, address).finally(() => {
        kept.renewing = undefined
      })
      await kept.renewing
    },

    async end(login, address) {
      const kept = byToken.get(login.token)
      const request = { token: kept?.refreshToken ?? login.token }
      await askAuth('Auth.Revoke', request, address, login.token)
      byToken.delete(login.token)
    },
  }
}

/** What a token that was found genuine says. */
export function toView({ token }: Login): LoginView {
  const claims = decodeJwt<Pick<Account, 'name' | 'type' | 'scopes' | 'metadata'>>(token)
  const { sub = '', iss = '', name, type, scopes, metadata } = claims
  return {
    account: { id: sub, name, type, issuer: iss, scopes, metadata },
    namespace: iss,
    expires: toExpiry(token),
  }
}

function toExpiry(token: string): number {
  return (decodeJwt(token).exp ?? 0) * 1000
}

function isHalfOver(token: string, nowMs: number): boolean {
  const { iat = 0, exp = 0 } = decodeJwt(token)
  return nowMs / 1000 >= iat + (exp - iat) * RENEW_AFTER
}

/**
 * What the service does not take, as 401; other errors stay what they are.
 *
 * @param codes that it says so by; 401 it may say, too, of a caller that the rules deny.
 */
function toRefused(error: unknown, detail: string, codes: readonly number[] = [400, 401]): unknown {
  const isRefused = error instanceof GatewayError && codes.includes(error.code)
  return isRefused ? new GatewayError(ID, 401, detail, { cause: error }) : error
}
