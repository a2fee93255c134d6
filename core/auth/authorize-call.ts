import type { Maybe } from '../../lib/async/maybe.ts'
import type { Account, Authorizer, Resource, Ruling, Session } from '../contracts/auth.ts'
import { GatewayError } from '../errors.ts'
import { findMetadata, isRepeated } from '../rpc/metadata.ts'
import { decide, invalidToken, toAccessDenied } from './policy/decision.ts'
import { isLoginEndpoint } from './policy/login-endpoint.ts'
import { readBearer } from './token/bearer.ts'
import { TokenError } from './token/token-error.ts'

/** A call that came from outside. */
export interface CallInput {
  /** As its caller wrote it. */
  readonly metadata: string
  readonly resource: Resource
  /** Of the service. */
  readonly domain: string
}

/**
 * Lets a call in: finds out who calls, by the token it shows, and what the rules say. At once where both are known.
 *
 * @returns whose call it is; undefined: of nobody that is known.
 * @throws {GatewayError} 400 for several tokens or namespaces, of which two readers might take different ones; 401 for a token that is not
 * taken, and what the rules deny; 503 as {@link Authorizer} has it. Also by rejecting.
 */
export function admitCall(gate: Authorizer, call: CallInput): Maybe<Session | undefined> {
  const authorization = findOnly(call, 'authorization')
  const token = authorization === undefined ? undefined : readBearer(authorization)
  if (token === undefined) return judge(gate, call, undefined)
  let session: Maybe<Session>
  try {
    session = gate.identify(token)
  } catch (error) {
    return refuse(gate, call, error)
  }
  if (!(session instanceof Promise)) return judge(gate, call, session)
  return session.then(
    (known) => judge(gate, call, known),
    (error) => refuse(gate, call, error),
  )
}

/** @throws {GatewayError} unless it is a login, for which no token is needed. */
function refuse(gate: Authorizer, call: CallInput, error: unknown): Maybe<Session | undefined> {
  if (!(error instanceof TokenError)) throw error
  if (!isLoginEndpoint(call.resource)) throw invalidToken(call.resource.name, call.resource)
  return judge(gate, call, undefined)
}

function judge(gate: Authorizer, call: CallInput, session: Session | undefined) {
  const { domain, resource } = call
  const namespace = findOnly(call, 'mx-namespace') ?? ''
  const account: Account | undefined = session?.account
  const ruling = decide(gate, account, { namespace, domain, resource })
  if (!(ruling instanceof Promise)) return admit(ruling, resource, session)
  return ruling.then((later) => admit(later, resource, session))
}

/** @throws {GatewayError} */
function admit(ruling: Ruling, resource: Resource, session: Session | undefined) {
  if (!ruling.granted) throw toAccessDenied(resource, session?.account, ruling.missingScope)
  return session
}

/** @throws {GatewayError} 400 when there are several. */
function findOnly({ metadata, resource }: CallInput, name: string): string | undefined {
  const value = findMetadata(metadata, name)
  if (value !== undefined && isRepeated(metadata, name))
    throw new GatewayError(resource.name, 400, `expected one ${name} header, got several`)
  return value
}
