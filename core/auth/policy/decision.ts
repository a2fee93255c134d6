import type { Maybe } from '../../../lib/async/maybe.ts'
import type { Account, Authorizer, Resource, Ruling } from '../../contracts/auth.ts'
import { GatewayError } from '../../errors.ts'
import { isNamespaceName, NAMESPACE_FORM } from '../../registry/namespace-name.ts'
import { DEFAULT_DOMAIN } from '../../registry/service.ts'
import { isAlwaysAllowed, isLogin } from './repair-calls.ts'

/** The called resource and the namespaces of a call. */
export interface CallTarget {
  /** Namespace of the call; empty: namespace of the resource. */
  readonly namespace: string
  /** Namespace of the resource. */
  readonly domain: string
  readonly resource: Resource
}

const ALWAYS: Ruling = { granted: true, rule: undefined }

/**
 * Authorizes a call, for gateway, RPC proxy and services alike.
 *
 * As {@link judgeByRules}, but operators are never denied the calls that repair access, and logins are forwarded to
 * `auth`, which applies the rules after it has authenticated the caller (decision 32).
 *
 * @throws {GatewayError} as {@link judgeByRules}.
 */
export function decide(
  authorizer: Authorizer,
  account: Account | undefined,
  target: CallTarget,
): Maybe<Ruling> {
  const { namespace, domain, resource } = target
  const isExempt =
    domain === DEFAULT_DOMAIN && (isAlwaysAllowed(account, resource) || isLogin(resource))
  if (isExempt && (namespace === '' || isNamespaceName(namespace))) return ALWAYS
  return judgeByRules(authorizer, account, target)
}

/**
 * Authorizes a call by the rules alone.
 *
 * The rules of the call's namespace decide. For resources of the default namespace its rules must grant the call as
 * well: otherwise a namespace without rules would bypass them. Resources of any other namespace are only visible to
 * calls in it.
 *
 * @throws {GatewayError} 400 for an invalid namespace, 404 for a service of another namespace; otherwise as {@link
 * Authorizer.judge}.
 */
export function judgeByRules(
  authorizer: Authorizer,
  account: Account | undefined,
  { namespace, domain, resource }: CallTarget,
): Maybe<Ruling> {
  if (namespace === '' || namespace === domain)
    return authorizer.judge({ namespace: domain, account, resource })
  if (!isNamespaceName(namespace))
    throw new GatewayError(
      resource.name,
      400,
      `Mx-Namespace must be ${NAMESPACE_FORM}, got ${JSON.stringify(namespace.slice(0, 100))}`,
    )
  if (domain !== DEFAULT_DOMAIN)
    throw new GatewayError(resource.name, 404, `service not found: ${resource.name}`)
  const local = authorizer.judge({ namespace, account, resource })
  const general = authorizer.judge({ namespace: DEFAULT_DOMAIN, account, resource })
  if (!(local instanceof Promise) && !(general instanceof Promise)) return both(local, general)
  return Promise.all([local, general]).then(([first, second]) => both(first, second))
}

/** Scopes that fit into a `scope` attribute (RFC 6749 §3.3). */
const SCOPE_TOKEN = /^[!#-[\]-~]+$/

/** Value of `WWW-Authenticate` for an account without a scope (RFC 6750 §3.1), which it names if it fits. */
export function toScopeChallenge(scope: string | undefined): string {
  const error = 'Bearer error="insufficient_scope"'
  return scope !== undefined && SCOPE_TOKEN.test(scope) ? `${error}, scope="${scope}"` : error
}

/**
 * The error for denied access: 401 for every caller (decisions 1 and 29). The challenge (RFC 6750 §3.1) states whether
 * another token helps.
 *
 * @param account undefined: the caller is anonymous.
 * @param missingScope as in {@link Ruling}.
 */
export function toAccessDenied(
  resource: Resource,
  account: Account | undefined,
  missingScope?: string,
): GatewayError {
  const call = describeCall(resource)
  const isNamed = missingScope !== undefined && SCOPE_TOKEN.test(missingScope)
  const detail = isNamed ? `${call}: requires the scope ${missingScope}` : call
  const challenge = toScopeChallenge(missingScope)
  return new GatewayError(resource.name, 401, detail, {
    headers: ['www-authenticate', account === undefined ? 'Bearer' : challenge],
  })
}

/**
 * The error for an invalid or expired access token: 401, RFC 6750 §3.1. The reason is only logged.
 *
 * @param resource the called resource; undefined if the token was checked before routing.
 */
export function invalidToken(
  service: string,
  resource?: Pick<Resource, 'name' | 'endpoint'>,
): GatewayError {
  const call = resource === undefined ? '' : `${describeCall(resource)}: `
  const detail = `${call}invalid or expired access token; log in again`
  return new GatewayError(service, 401, detail, {
    headers: ['www-authenticate', 'Bearer error="invalid_token"'],
  })
}

function describeCall({ name, endpoint }: Pick<Resource, 'name' | 'endpoint'>): string {
  return `Unauthorized call made to ${name}:${endpoint}`
}

/** True for the error of {@link invalidToken}: a new token may be accepted. */
export function isInvalidToken({ code, headers = [] }: GatewayError): boolean {
  if (code !== 401) return false
  const at = headers.indexOf('www-authenticate')
  return at >= 0 && headers[at + 1]!.includes('invalid_token')
}

function both(local: Ruling, general: Ruling): Ruling {
  return local.granted ? general : local
}
