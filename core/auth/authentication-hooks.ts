import type { Maybe } from '../../lib/async/maybe.ts'
import type { Session } from '../contracts/auth.ts'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { PluginHooks } from '../plugin/define.ts'
import { keepPrivate } from './cache-headers.ts'
import { OpenStreams } from './revocable-streams.ts'

export interface IdentityOptions {
  /**
   * Who calls, by what a request shows; undefined: it shows nothing of this kind.
   *
   * @throws {GatewayError} for what is not taken, also by rejecting.
   */
  readonly identify: (x: Exchange) => Maybe<Session | undefined>
  /** Whether whoever calls must be known, to this plugin or another. */
  readonly required: boolean
  /** Told to those that are not known. */
  readonly detail: string
  /** What they may do about it: the value of `WWW-Authenticate` (RFC 9110 §11.6.1). */
  readonly challenge: string
  /** Takes out what was shown; undefined: it goes on to services and backends. */
  readonly hide: ((x: Exchange) => void) | undefined
  /** Whether a caller is still known. @default until its session ends */
  readonly isKnown?: (session: Session) => boolean
  /** Unix time. */
  readonly nowMs: () => number
}

/** Hooks of a plugin that finds out who calls. */
export interface Identity extends PluginHooks {
  /** Ends the streams of those that are known no longer. */
  readonly review: () => void
}

/**
 * How all plugins that know callers go about it: what is shown and not taken is answered once every plugin has looked at it, since
 * another may take it.
 */
export function createIdentity(options: IdentityOptions): Identity {
  const { identify, required, detail, challenge, hide, isKnown = () => true, nowMs } = options
  const ours = new WeakSet<Session>()
  const toUnknown = ({ route }: Exchange): GatewayError =>
    denyAuthentication(route?.service ?? GATEWAY_ID, detail, challenge)
  const streams = new OpenStreams({
    judge: (x) => {
      const { session } = x
      const isGone = session !== undefined && ours.has(session) && !isKnown(session)
      return isGone ? toUnknown(x) : undefined
    },
    toEnded: toUnknown,
    nowMs,
  })

  function take(x: Exchange, session: Session | undefined): void {
    if (session === undefined || x.session !== undefined) return
    x.session = session
    ours.add(session)
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
        if (!(session instanceof Promise)) return take(x, session)
        return session.then(
          (known) => take(x, known),
          (error: unknown) => fail(x, error),
        )
      } catch (error) {
        fail(x, error)
      }
    },

    onRoute(x) {
      if (x.session !== undefined) return
      const { refusal } = x
      if (refusal !== undefined) {
        const { code, message, headers = [] } = refusal
        throw new GatewayError(x.route!.service, code, message, { headers })
      }
      if (required) throw toUnknown(x)
    },

    onReply(x) {
      const { session } = x
      if (session === undefined || x.route === undefined) return
      const isOurs = ours.has(session)
      if (isOurs) streams.onReply(x)
      // Whoever knows the caller: it had to be known.
      if ((required || (isOurs && hide === undefined)) && x.status !== 101)
        keepPrivate(x.replyHeaders)
    },

    onDone: streams.onDone,
    close: streams.close,
    review: streams.review,
  }
}

/** 401 with a challenge. */
export function denyAuthentication(
  service: string,
  detail: string,
  challenge: string,
): GatewayError {
  return new GatewayError(service, 401, detail, { headers: ['www-authenticate', challenge] })
}
