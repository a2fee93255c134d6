import type { Maybe } from '../../../lib/async/maybe.ts'
import type { Account, Authorizer, Resource, Ruling } from '../../contracts/auth.ts'
import { GatewayError } from '../../errors.ts'
import { isNamespaceName, NAMESPACE_FORM } from '../../registry/namespace-name.ts'
import { DEFAULT_DOMAIN } from '../../registry/service.ts'
import { isAlwaysAllowed, isLogin } from './repair-calls.ts'

/** What is called, and between which namespaces. */
export interface CallTarget {
  /** That the call is made in; empty: that of what is called. */
  readonly namespace: string
  /** That what is called belongs to. */
  readonly domain: string
  readonly resource: Resource
}

const ALWAYS: Ruling = { granted: true, rule: undefined }

/**
 * Whether a call may be made: one function for gateway, RPC proxy and services.
 *
 * As {@link judgeByRules}, but no rule denies operators the calls that repair access, and logins are left to `auth`, which applies
 * the rules once it knows who logs in (decision 32).
 *
 * @throws {GatewayError} as {@link judgeByRules}.
 */
export function decide(
  gate: Authorizer,
  account: Account | undefined,
  target: CallTarget,
): Maybe<Ruling> {
  const { namespace, domain, resource } = target
  const isExempt =
    domain === DEFAULT_DOMAIN && (isAlwaysAllowed(account, resource) || isLogin(resource))
  if (isExempt && (namespace === '' || isNamespaceName(namespace))) return ALWAYS
  return judgeByRules(gate, account, target)
}

/**
 * Whether the rules alone grant a call.
 *
 * The rules of the namespace it is made in decide. Where what is called belongs to the default namespace, the rules of that must
 * grant it as well: otherwise anybody could go round them by naming a namespace nobody has made rules for. What belongs to another
 * one is there for calls that are made in it.
 *
 * @throws {GatewayError} 400 for a namespace that is none, 404 for a service that is not there in it; besides as {@link Authorizer.judge}.
 */
export function judgeByRules(
  gate: Authorizer,
  account: Account | undefined,
  { namespace, domain, resource }: CallTarget,
): Maybe<Ruling> {
  if (namespace === '' || namespace === domain)
    return gate.judge({ namespace: domain, account, resource })
  if (!isNamespaceName(namespace))
    throw new GatewayError(
      resource.name,
      400,
      `Mx-Namespace must be ${NAMESPACE_FORM}, got ${JSON.stringify(namespace.slice(0, 100))}`,
    )
  if (domain !== DEFAULT_DOMAIN)
    throw new GatewayError(resource.name, 404, `service not found: ${resource.name}`)
  const own = gate.judge({ namespace, account, resource })
  const general = gate.judge({ namespace: DEFAULT_DOMAIN, account, resource })
  if (!(own instanceof Promise) && !(general instanceof Promise)) return both(own, general)
  return Promise.all([own, general]).then(([first, second]) => both(first, second))
}

/** Scopes that a `scope` attribute can hold as one (RFC 6749 §3.3). */
const SCOPE_TOKEN = /^[!#-[\]-~]+$/

/**
 * The error for a call that the rules deny: 401, whoever calls (decisions 1 and 29). RFC 6750 §3.1 tells programs whether another
 * token helps.
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
  const error = 'Bearer error="insufficient_scope"'
  const known = isNamed ? `${error}, scope="${missingScope}"` : error
  return new GatewayError(resource.name, 401, detail, {
    headers: ['www-authenticate', account === undefined ? 'Bearer' : known],
  })
}

/**
 * The error for an invalid or expired access token: 401, RFC 6750 §3.1. The reason is logged only.
 *
 * @param resource what is called; without, the token was checked before that was known.
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

/** Whether an error says what {@link invalidToken} does: another token may be taken. */
export function isInvalidToken({ code, headers = [] }: GatewayError): boolean {
  if (code !== 401) return false
  const at = headers.indexOf('www-authenticate')
  return at >= 0 && headers[at + 1]!.includes('invalid_token')
}

function both(own: Ruling, general: Ruling): Ruling {
  return own.granted ? general : own
}
