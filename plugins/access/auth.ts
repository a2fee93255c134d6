import { formatAccount } from '../../core/auth/account-text.ts'
import { keepPrivate, varyByCaller } from '../../core/auth/cache-headers.ts'
import { CALLER_ADDRESS, usesCallerAddress } from '../../core/auth/identity-headers.ts'
import { isCrossNamespace } from '../../core/auth/policy/cross-namespace.ts'
import {
  type CallTarget,
  decide,
  invalidToken,
  isInvalidToken,
  toAccessDenied,
} from '../../core/auth/policy/decision.ts'
import { isLoginEndpoint } from '../../core/auth/policy/login-endpoint.ts'
import { OpenStreams } from '../../core/auth/revocable-streams.ts'
import { isApiKey } from '../../core/auth/token/api-key.ts'
import { readBearer } from '../../core/auth/token/bearer.ts'
import { TokenError } from '../../core/auth/token/token-error.ts'
import type { Ruling, Session } from '../../core/contracts/auth.ts'
import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { moveApiKey, readToken } from './auth/bearer-token.ts'
import { toTarget } from './auth/target.ts'

const options = Type.Object({
  forwardToken: Type.Boolean({
    default: false,
    description: 'Forward access tokens to proxied backends that are not services.',
  }),
  forwardAccount: Type.Boolean({
    default: false,
    description:
      'Send the account of the caller to such backends as JSON in the Mx-Account header.',
  }),
})

/**
 * Authenticates the caller by the access token or API key in `Authorization: Bearer`, or the API key in `X-Api-Key`, and
 * authorizes the call of the resolved service and endpoint (specification: Authentication). Cookies are not accepted as
 * credentials. A denied call fails with 401.
 *
 * Services receive the account in `mx-account`, unless it belongs to a different namespace than the call. Streams and
 * WebSockets are authorized again when rules change, and end when their token expires.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'auth',
  description: 'Authenticates access tokens and enforces the access rules.',
  options,
  create({ forwardToken, forwardAccount }, { authorizer, nowMs }) {
    if (authorizer === undefined)
      throw new TypeError(
        'the plugin auth has no access rules: set --auth=mx://host:port to the server that stores them',
      )

    /** Backends may personalize responses. */
    const isForwarded = forwardToken || forwardAccount
    const authenticate = (x: Exchange, session: Session, token: string): void => {
      x.session = session
      x.beforeProxy = setBackendHeaders
      if (session.account.apiKey === undefined) return
      tokens.set(session, token)
      moveApiKey(x)
    }
    const setBackendHeaders = (x: Exchange): void => {
      // An Authorization header of another scheme, next to X-Api-Key, is intended for the backend.
      if (storeToken(x) && !forwardToken) x.headers.delete('authorization')
      if (forwardAccount) setAccountHeader(x)
    }
    const setAccountHeader = ({ headers, forwardedAccount: toldAccount }: Exchange): void => {
      if (toldAccount !== undefined) headers.set('mx-account', formatAccount(toldAccount))
    }
    /** Tokens of open streams, whose headers may already be freed. */
    const tokens = new WeakMap<Session, string>()
    /** Returns whether the request has a token. */
    const storeToken = ({ session, headers }: Exchange): boolean => {
      const authorization = headers.get('authorization')
      const token = authorization === undefined ? undefined : readBearer(authorization)
      if (token !== undefined) tokens.set(session!, token)
      return token !== undefined
    }
    const streams = new OpenStreams({
      reauthorize: (x) => reauthorize(x).catch(toReason),
      toRevokedError: ({ route, authorizedTarget }) =>
        invalidToken(route!.service, authorizedTarget?.resource),
      nowMs,
    })
    const reauthorize = async (x: Exchange): Promise<GatewayError | undefined> => {
      const { session } = x
      const token = session && tokens.get(session)
      if (token !== undefined) {
        x.session = await authorizer.identify(token)
        tokens.set(x.session, token)
      }
      const { granted, missingScope } = await decide(authorizer, x.account, x.authorizedTarget!)
      return granted
        ? undefined
        : toAccessDenied(x.authorizedTarget!.resource, x.account, missingScope)
    }
    const unsubscribe = authorizer.onChange(streams.review)

    const settle = (x: Exchange, target: CallTarget, ruling: Ruling): void => {
      if (!ruling.granted) throw toAccessDenied(target.resource, x.account, ruling.missingScope)
      x.authorizedTarget = target
      x.isCrossNamespace = isCrossNamespace(x.account, target)
      if (forwardAccount && x.session !== undefined) x.beforeProxy ??= setAccountHeader
      if (usesCallerAddress(x.route!.service)) x.headers.set(CALLER_ADDRESS, x.clientAddress)
    }

    return {
      onRequest(x) {
        const token = readToken(x)
        if (token === undefined) return
        try {
          const session = authorizer.identify(token)
          if (!(session instanceof Promise)) return authenticate(x, session, token)
          return session.then(
            (known) => authenticate(x, known, token),
            (error: unknown) => rejectToken(x, token, error),
          )
        } catch (error) {
          rejectToken(x, token, error)
        }
      },

      onRoute(x) {
        // A redirect or constant response in the configuration belongs to no service.
        if (x.route!.rule?.handler !== undefined) return
        const { refusal: authenticationError } = x
        const target = toTarget(x)
        if (
          authenticationError !== undefined &&
          x.session === undefined &&
          !isLoginEndpoint(target.resource)
        )
          throw toServiceError(x, target.resource, authenticationError)
        const ruling = decide(authorizer, x.account, target)
        if (!(ruling instanceof Promise)) return settle(x, target, ruling)
        return ruling.then((late) => settle(x, target, late))
      },

      onReply(x) {
        if (x.authorizedTarget === undefined) return
        if (x.streaming && x.beforeProxy === setBackendHeaders) storeToken(x)
        streams.onReply(x)
        if (x.status === 101) return
        if (x.session === undefined) {
          if (isForwarded) varyByCaller(x.replyHeaders)
        } else if (isForwarded || !isPublic(x)) keepPrivate(x.replyHeaders)
      },

      onDone: streams.onDone,

      close() {
        unsubscribe()
        streams.close()
      },
    }

    /** Whether anonymous callers may receive the response. */
    function isPublic(x: Exchange): boolean {
      if (x.replyHeaders.get('cache-control') === 'no-store') return true
      const ruling = decide(authorizer!, undefined, x.authorizedTarget!)
      return !(ruling instanceof Promise) && ruling.granted
    }
  },
})

export default plugin

function rejectToken(x: Exchange, token: string, error: unknown): void {
  if (error instanceof GatewayError) x.refusal = error
  else if (error instanceof TokenError)
    x.refusal = invalidToken(GATEWAY_ID, undefined, isApiKey(token))
  else throw error
}

function toServiceError(
  x: Exchange,
  resource: CallTarget['resource'],
  authenticationError: GatewayError,
): GatewayError {
  const { service } = x.route!
  if (isInvalidToken(authenticationError))
    return invalidToken(service, resource, isApiKey(readToken(x) ?? ''))
  const { code, message, headers = [] } = authenticationError
  return new GatewayError(service, code, message, { headers })
}

/** Returns the reason to end a stream. An outage of the server that stores the rules does not end streams. */
function toReason(error: unknown): GatewayError | undefined {
  return error instanceof TokenError ? invalidToken(GATEWAY_ID) : undefined
}
