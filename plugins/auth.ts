import { formatAccount } from '../core/auth/account-text.ts'
import { keepPrivate, varyByCaller } from '../core/auth/cache-headers.ts'
import { CALLER_ADDRESS, usesCallerAddress } from '../core/auth/identity-headers.ts'
import { isCrossNamespace } from '../core/auth/policy/cross-namespace.ts'
import {
  type CallTarget,
  decide,
  invalidToken,
  isInvalidToken,
  toAccessDenied,
} from '../core/auth/policy/decision.ts'
import { isLoginEndpoint } from '../core/auth/policy/login-endpoint.ts'
import { OpenStreams } from '../core/auth/revocable-streams.ts'
import { readBearer } from '../core/auth/token/bearer.ts'
import { TokenError } from '../core/auth/token/token-error.ts'
import type { Ruling, Session } from '../core/contracts/auth.ts'
import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { Type } from '../core/schema.ts'
import { readToken } from './auth/bearer-token.ts'
import { toTarget } from './auth/target.ts'

const options = Type.Object({
  forwardToken: Type.Boolean({
    default: false,
    description: 'Whether access tokens go to backends that are proxied, and no services.',
  }),
  forwardAccount: Type.Boolean({
    default: false,
    description: 'Whether such backends are told who calls, as JSON in the field Mx-Account.',
  }),
})

/**
 * Lets through what the rules grant (specification: Authentication): identifies the caller by the access token of
 * `Authorization: Bearer`, and judges the resolved service and endpoint. Cookies are not accepted as credentials. A denied call is 401.
 *
 * Services are told who calls (`mx-account`), unless the account is of another namespace than the call. Streams and WebSockets are judged again when rules change, and end with their tokens.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'auth',
  description: 'Lets through what the rules of access grant.',
  options,
  create({ forwardToken, forwardAccount }, { gate, nowMs }) {
    if (gate === undefined)
      throw new TypeError('knows no rules: --auth=mx://host:port says whose are in force')

    /** Replies may be made for one caller. */
    const isForwarded = forwardToken || forwardAccount
    const take = (x: Exchange, session: Session): void => {
      x.session = session
      x.beforeProxy = hide
    }
    const hide = (x: Exchange): void => {
      keepToken(x)
      if (!forwardToken) x.headers.delete('authorization')
      if (forwardAccount) tell(x)
    }
    const tell = ({ headers, toldAccount }: Exchange): void => {
      if (toldAccount !== undefined) headers.set('mx-account', formatAccount(toldAccount))
    }
    /** Of open streams, some of which are long past their fields. */
    const tokens = new WeakMap<Session, string>()
    const keepToken = ({ session, headers }: Exchange): void => {
      const authorization = headers.get('authorization')
      const token = authorization && readBearer(authorization)
      if (token !== undefined) tokens.set(session!, token)
    }
    const streams = new OpenStreams({
      judge: (x) => judgeAgain(x).catch(toReason),
      toEnded: ({ route, admitted }) => invalidToken(route!.service, admitted?.resource),
      nowMs,
    })
    const judgeAgain = async (x: Exchange): Promise<GatewayError | undefined> => {
      const { session } = x
      const token = session && tokens.get(session)
      if (token !== undefined) {
        x.session = await gate.identify(token)
        tokens.set(x.session, token)
      }
      const { granted, missingScope } = await decide(gate, x.account, x.admitted!)
      return granted ? undefined : toAccessDenied(x.admitted!.resource, x.account, missingScope)
    }
    const end = gate.onChange(streams.review)

    const settle = (x: Exchange, target: CallTarget, ruling: Ruling): void => {
      if (!ruling.granted) throw toAccessDenied(target.resource, x.account, ruling.missingScope)
      x.admitted = target
      x.isForeign = isCrossNamespace(x.account, target)
      if (forwardAccount && x.session !== undefined) x.beforeProxy ??= tell
      if (usesCallerAddress(x.route!.service)) x.headers.set(CALLER_ADDRESS, x.clientAddress)
    }

    return {
      onRequest(x) {
        const token = readToken(x)
        if (token === undefined) return
        try {
          const session = gate.identify(token)
          if (!(session instanceof Promise)) return take(x, session)
          return session.then(
            (known) => take(x, known),
            (error: unknown) => refuse(x, error),
          )
        } catch (error) {
          refuse(x, error)
        }
      },

      onRoute(x) {
        const { refusal } = x
        const target = toTarget(x)
        if (refusal !== undefined && x.session === undefined && !isLoginEndpoint(target.resource))
          throw inNameOf(x.route!.service, target.resource, refusal)
        const ruling = decide(gate, x.account, target)
        if (!(ruling instanceof Promise)) return settle(x, target, ruling)
        return ruling.then((late) => settle(x, target, late))
      },

      onReply(x) {
        if (x.admitted === undefined) return
        if (x.streaming && x.beforeProxy === hide) keepToken(x)
        streams.onReply(x)
        if (x.status === 101) return
        if (x.session === undefined) {
          if (isForwarded) varyByCaller(x.replyHeaders)
        } else if (isForwarded || !isPublic(x)) keepPrivate(x.replyHeaders)
      },

      onDone: streams.onDone,

      close() {
        end()
        streams.close()
      },
    }

    /** Whether everybody may have the reply. */
    function isPublic(x: Exchange): boolean {
      if (x.replyHeaders.get('cache-control') === 'no-store') return true
      const ruling = decide(gate!, undefined, x.admitted!)
      return !(ruling instanceof Promise) && ruling.granted
    }
  },
})

export default plugin

function refuse(x: Exchange, error: unknown): void {
  if (error instanceof GatewayError) x.refusal = error
  else if (error instanceof TokenError) x.refusal = invalidToken(GATEWAY_ID)
  else throw error
}

function inNameOf(
  service: string,
  resource: CallTarget['resource'],
  refusal: GatewayError,
): GatewayError {
  if (isInvalidToken(refusal)) return invalidToken(service, resource)
  const { code, message, headers = [] } = refusal
  return new GatewayError(service, code, message, { headers })
}

/** Why a stream may not go on. What keeps anybody from judging ends none. */
function toReason(error: unknown): GatewayError | undefined {
  return error instanceof TokenError ? invalidToken(GATEWAY_ID) : undefined
}
