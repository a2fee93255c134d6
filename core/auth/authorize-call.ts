import type { Maybe } from '../../lib/async/maybe.ts'
import type { Account, Authorizer, Resource, Ruling, Session } from '../contracts/auth.ts'
import { GatewayError } from '../errors.ts'
import { findMetadata, isRepeated } from '../rpc/metadata.ts'
import { decide, invalidToken, toAccessDenied } from './policy/decision.ts'
import { isLoginEndpoint } from './policy/login-endpoint.ts'
import { isApiKey } from './token/api-key.ts'
import { readBearer } from './token/bearer.ts'
import { TokenError } from './token/token-error.ts'

/** A call from an external client. */
export interface CallInput {
  /** Metadata as sent by the caller. */
  readonly metadata: string
  readonly resource: Resource
  /** Domain of the service. */
  readonly domain: string
}

/**
 * Authenticates a call by its access token or API key and authorizes it. Synchronous if token and rules are cached.
 *
 * @returns the session of the caller, or undefined if anonymous.
 * @throws {GatewayError} 400 for repeated tokens or namespaces, which two parsers could read differently; 401 for an
 * invalid token or denied access; 503, see {@link Authorizer}. Synchronously or by rejecting.
 */
export function admitCall(authorizer: Authorizer, call: CallInput): Maybe<Session | undefined> {
  const authorization = findSingle(call, 'authorization')
  const token = authorization === undefined ? undefined : readBearer(authorization)
  if (token === undefined) return decideCall(authorizer, call, undefined)
  let session: Maybe<Session>
  try {
    session = authorizer.identify(token)
  } catch (error) {
    return rejectToken(authorizer, call, token, error)
  }
  if (!(session instanceof Promise)) return decideCall(authorizer, call, session)
  return session.then(
    (known) => decideCall(authorizer, call, known),
    (error) => rejectToken(authorizer, call, token, error),
  )
}

/** @throws {GatewayError} 401, except for logins, which require no token. */
function rejectToken(
  authorizer: Authorizer,
  call: CallInput,
  token: string,
  error: unknown,
): Maybe<Session | undefined> {
  if (!(error instanceof TokenError)) throw error
  if (!isLoginEndpoint(call.resource))
    throw invalidToken(call.resource.name, call.resource, isApiKey(token))
  return decideCall(authorizer, call, undefined)
}

function decideCall(authorizer: Authorizer, call: CallInput, session: Session | undefined) {
  const { domain, resource } = call
  const namespace = findSingle(call, 'mx-namespace') ?? ''
  const account: Account | undefined = session?.account
  const ruling = decide(authorizer, account, { namespace, domain, resource })
  if (!(ruling instanceof Promise)) return admit(ruling, resource, session)
  return ruling.then((later) => admit(later, resource, session))
}

function admit(ruling: Ruling, resource: Resource, session: Session | undefined) {
  if (!ruling.granted) throw toAccessDenied(resource, session?.account, ruling.missingScope)
  return session
}

/** @throws {GatewayError} 400 for repeated headers. */
function findSingle({ metadata, resource }: CallInput, name: string): string | undefined {
  const value = findMetadata(metadata, name)
  if (value !== undefined && isRepeated(metadata, name))
    throw new GatewayError(resource.name, 400, `expected one ${name} header, got several`)
  return value
}
