import type { Maybe } from '../../lib/async/maybe.ts'
import type { Session } from '../contracts/auth.ts'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { PluginHooks } from '../plugin/define.ts'
import { keepPrivate } from './cache-headers.ts'
import { OpenStreams } from './revocable-streams.ts'

export interface IdentityOptions {
  /**
   * Authenticates a request by its credentials. Returns undefined if it has no credentials of this kind.
   *
   * @throws {GatewayError} if the credentials are invalid, synchronously or by rejecting.
   */
  readonly identify: (x: Exchange) => Maybe<Session | undefined>
  /** Rejects anonymous requests. Other plugins may authenticate the caller. */
  readonly required: boolean
  /** Error text for anonymous requests. */
  readonly detail: string
  /** Value of `WWW-Authenticate` (RFC 9110 §11.6.1). */
  readonly challenge: string
  /** Removes the credentials from the request. If undefined, they are forwarded to services and backends. */
  readonly hide: ((x: Exchange) => void) | undefined
  /** Returns true while the account of a session exists. @default true until the session ends */
  readonly isKnown?: (session: Session) => boolean
  readonly nowMs: () => number
}

/** Hooks of an authentication plugin. */
export interface Identity extends PluginHooks {
  /** Ends the streams of deleted accounts. */
  readonly review: () => void
}

/**
 * Creates the hooks shared by all authentication plugins. Invalid credentials are rejected only after every plugin has
 * checked them, since another plugin may accept them.
 */
export function createIdentity(options: IdentityOptions): Identity {
  const { identify, required, detail, challenge, hide, isKnown = () => true, nowMs } = options
  const accepted = new WeakSet<Session>()
  const toUnauthorized = ({ route }: Exchange): GatewayError =>
    denyAuthentication(route?.service ?? GATEWAY_ID, detail, challenge)
  const streams = new OpenStreams({
    reauthorize: (x) => {
      const { session } = x
      const isRemoved = session !== undefined && accepted.has(session) && !isKnown(session)
      return isRemoved ? toUnauthorized(x) : undefined
    },
    toRevokedError: toUnauthorized,
    nowMs,
  })

  function authenticate(x: Exchange, session: Session | undefined): void {
    if (session === undefined || x.session !== undefined) return
    x.session = session
    accepted.add(session)
    hide?.(x)
  }

  function fail(x: Exchange, error: unknown): void {
    if (!(error instanceof GatewayError) || error.code === 400) throw error
    x.refusal = error
  }

  return {
    onRequest(x) {
      if (x.session !== undefined) return
      try {
        const session = identify(x)
        if (!(session instanceof Promise)) return authenticate(x, session)
        return session.then(
          (resolved) => authenticate(x, resolved),
          (error: unknown) => fail(x, error),
        )
      } catch (error) {
        fail(x, error)
      }
    },

    onRoute(x) {
      if (x.session !== undefined) return
      const { refusal: rejection } = x
      if (rejection !== undefined) {
        const { code, message, headers = [] } = rejection
        throw new GatewayError(x.route!.service, code, message, { headers })
      }
      if (required) throw toUnauthorized(x)
    },

    onReply(x) {
      const { session } = x
      if (session === undefined || x.route === undefined) return
      const isAccepted = accepted.has(session)
      if (isAccepted) streams.onReply(x)
      // The response depends on the caller if authentication was required.
      if ((required || (isAccepted && hide === undefined)) && x.status !== 101)
        keepPrivate(x.replyHeaders)
    },

    onDone: streams.onDone,
    close: streams.close,
    review: streams.review,
  }
}

/** Creates a 401 error with a challenge. */
export function denyAuthentication(
  service: string,
  detail: string,
  challenge: string,
): GatewayError {
  return new GatewayError(service, 401, detail, { headers: ['www-authenticate', challenge] })
}
