import type { Maybe } from '../../../lib/async/maybe.ts'
import type { Account, Authorizer, Resource, Ruling } from '../../contracts/auth.ts'
import { GatewayError } from '../../errors.ts'
import { isNamespaceName, NAMESPACE_FORM } from '../../registry/namespace-name.ts'
import { DEFAULT_DOMAIN } from '../../registry/service.ts'
import { isAlwaysAllowed, isLogin } from './repair-calls.ts'

/** The called resource and the namespaces of a call. */
export interface CallTarget {
  /** Namespace of the call; empty for the namespace of the resource. */
  readonly namespace: string
  /** Namespace of the resource. */
  readonly domain: string
  readonly resource: Resource
}

const ALWAYS: Ruling = { granted: true, rule: undefined }

/**
 * Authorizes a call in the gateway, the RPC proxy and services.
 *
 * Works like {@link decideByRules}, with two exceptions. Operators are never denied the calls that repair access. Logins
 * are forwarded to `auth`, which applies the rules after authenticating the caller (decision 32).
 *
 * @throws {GatewayError} see {@link decideByRules}.
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
  return decideByRules(authorizer, account, target)
}

/**
 * Authorizes a call by the rules only.
 *
 * The rules of the call's namespace decide. For resources of the default namespace, the rules of that namespace must
 * grant the call as well; otherwise a namespace without rules would bypass them. Resources of other namespaces are
 * only visible to calls in the same namespace.
 *
 * @throws {GatewayError} 400 for an invalid namespace, 404 for a service of another namespace; otherwise see
 * {@link Authorizer.decide}.
 */
export function decideByRules(
  authorizer: Authorizer,
  account: Account | undefined,
  { namespace, domain, resource }: CallTarget,
): Maybe<Ruling> {
  if (namespace === '' || namespace === domain)
    return authorizer.decide({ namespace: domain, account, resource })
  if (!isNamespaceName(namespace))
    throw new GatewayError(
      resource.name,
      400,
      `Mx-Namespace must be ${NAMESPACE_FORM}, got ${JSON.stringify(namespace.slice(0, 100))}`,
    )
  if (domain !== DEFAULT_DOMAIN)
    throw new GatewayError(resource.name, 404, `service not found: ${resource.name}`)
  const local = authorizer.decide({ namespace, account, resource })
  const general = authorizer.decide({ namespace: DEFAULT_DOMAIN, account, resource })
  if (!(local instanceof Promise) && !(general instanceof Promise)) return both(local, general)
  return Promise.all([local, general]).then(([first, second]) => both(first, second))
}

/** Scopes that fit into a `scope` attribute (RFC 6749 §3.3). */
const SCOPE_TOKEN = /^[!#-[\]-~]+$/

/**
 * `WWW-Authenticate` challenge for an account that lacks a scope (RFC 6750 §3.1). Includes the scope if valid there.
 */
export function toScopeChallenge(scope: string | undefined): string {
  const error = 'Bearer error="insufficient_scope"'
  return scope !== undefined && SCOPE_TOKEN.test(scope) ? `${error}, scope="${scope}"` : error
}

/**
 * Creates the error for denied access: 401 for every caller (decisions 1 and 29). The challenge (RFC 6750 §3.1) states
 * whether another token helps.
 *
 * @param account undefined if the caller is anonymous.
 * @param missingScope see {@link Ruling}.
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
 * Creates the 401 error for an invalid or expired access token or API key (RFC 6750 §3.1). The reason is only logged.
 *
 * @param resource called resource; undefined if the token was checked before routing.
 */
export function invalidToken(
  service: string,
  resource?: Pick<Resource, 'name' | 'endpoint'>,
  isApiKey = false,
): GatewayError {
  const call = resource === undefined ? '' : `${describeCall(resource)}: `
  const detail = isApiKey
    ? `${call}unknown, expired or deleted API key`
    : `${call}invalid or expired access token; log in again`
  return new GatewayError(service, 401, detail, {
    headers: ['www-authenticate', 'Bearer error="invalid_token"'],
  })
}

function describeCall({ name, endpoint }: Pick<Resource, 'name' | 'endpoint'>): string {
  return `Unauthorized call made to ${name}:${endpoint}`
}

/** True for errors from {@link invalidToken}; a new token may be accepted. */
export function isInvalidToken({ code, headers = [] }: GatewayError): boolean {
  if (code !== 401) return false
  const at = headers.indexOf('www-authenticate')
  return at >= 0 && headers[at + 1]!.includes('invalid_token')
}

function both(local: Ruling, general: Ruling): Ruling {
  return local.granted ? general : local
}
