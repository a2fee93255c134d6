import {
  ADMIN,
  canActAs,
  isAdminOf,
  isWorkload,
  SERVICE,
  toWorkloadScope,
} from '../../core/auth/policy/account-rights.ts'
import { toScopeChallenge } from '../../core/auth/policy/decision.ts'
import { belongsTo } from '../../core/auth/policy/is-member.ts'
import type { Authorizer } from '../../core/contracts/auth.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Account, Context } from '../context.ts'
import { forbidden, unauthorized } from '../errors.ts'
import { DEFAULT_NAMESPACE } from '../namespace.ts'

type Called = Pick<Context, 'account'>

/**
 * Rejects a caller without the required rights.
 *
 * @param namespace namespace of the resource.
 * @param id error id: the endpoint, such as `runtime.Runtime.Create`.
 * @throws {GatewayError} 401 without an account or for a missing scope, 403 for an account of another namespace
 * (reference 2.2).
 */
export type AccountCheck = (ctx: Context, namespace: string, id: string) => void

/** Access checks of built-in services, in addition to the rules. */
export interface AccountChecks {
  /** Any account of the namespace. */
  readonly mustBeMember: AccountCheck
  /** Like {@link mustBeMember}, except that workloads are rejected. */
  readonly mustBeViewer: AccountCheck
  /** A service of the namespace. @param service if set, workload accounts of other services are rejected. */
  readonly mustBeService: (ctx: Context, namespace: string, id: string, service?: string) => void
  /** Requires the `admin` scope of the namespace, or of `mx`. */
  readonly mustBeAdmin: AccountCheck
  /** Requires the `admin` scope of `mx`, for calls about any namespace. */
  readonly mustBeOperator: (ctx: Context, id: string) => void
}

/** Creates the checks of a service. Without an authorizer, there are no accounts and every call is allowed. */
export function createAccountChecks(authorizer: Authorizer | undefined): AccountChecks {
  if (authorizer !== undefined)
    return { mustBeMember, mustBeViewer, mustBeService, mustBeAdmin, mustBeOperator }
  const allow = (): void => {}
  return {
    ...{ mustBeMember: allow, mustBeViewer: allow, mustBeService: allow },
    ...{ mustBeAdmin: allow, mustBeOperator: allow },
  }
}

/**
 * Requires an account of a namespace, or an operator (reference 2.2).
 *
 * @param id error id.
 * @throws {GatewayError} 401 without an account, 403 for an account of another namespace.
 */
export function mustBeMember({ account }: Called, namespace: string, id: string): Account {
  if (account === undefined)
    throw unauthorized(id, 'An account is required', { headers: ['www-authenticate', 'Bearer'] })
  if (!belongsTo(account, namespace)) throw forbidden(id, 'Access denied to namespace')
  return account
}

/**
 * Like {@link mustBeMember}, except that workloads are rejected. For services of a namespace and routes of the gateway.
 *
 * @throws {GatewayError} 401 for a workload.
 */
export function mustBeViewer(ctx: Called, namespace: string, id: string): Account {
  const account = mustBeMember(ctx, namespace, id)
  if (isWorkload(account)) throw toMissingScope(id, ADMIN, namespace)
  return account
}

/**
 * Like {@link mustBeMember}, for a service of the namespace: requires the `service` or `admin` scope, or a workload
 * scope (decision 30).
 *
 * @param service full name. @default any, for resources shared by all services of the namespace
 * @throws {GatewayError} 401 for accounts that are not services, and for the workload of another service.
 */
export function mustBeService(
  ctx: Called,
  namespace: string,
  id: string,
  service?: string,
): Account {
  const account = mustBeMember(ctx, namespace, id)
  if (canActAs(account, namespace, service)) return account
  if (service === undefined || !isWorkload(account)) throw toMissingScope(id, SERVICE, namespace)
  const scope = toWorkloadScope(namespace, service)
  throw toMissingScope(
    id,
    scope,
    namespace,
    `. The account ${account.id} is a workload with the scopes ${account.scopes.join(', ')}: run ${service} as a separate program (mx run --name=${service}), or use an account with the missing scope`,
  )
}

/**
 * Like {@link mustBeMember}, for an administrator of the namespace.
 *
 * @throws {GatewayError} 401 for a member without the `admin` scope.
 */
export function mustBeAdmin(ctx: Called, namespace: string, id: string): Account {
  const account = mustBeMember(ctx, namespace, id)
  if (!isAdminOf(account, namespace)) throw toMissingScope(id, ADMIN, namespace)
  return account
}

/**
 * Like {@link mustBeAdmin}, for an operator of the platform.
 *
 * @throws {GatewayError} 401, 403
 */
export function mustBeOperator(ctx: Called, id: string): Account {
  return mustBeAdmin(ctx, DEFAULT_NAMESPACE, id)
}

/**
 * Error for an authenticated caller without the required scope: 401 (decision 29, RFC 6750 §3.1).
 *
 * @param hint text appended to the message.
 */
export function toMissingScope(
  id: string,
  scope: string,
  namespace: string,
  hint = '',
): GatewayError {
  return unauthorized(
    id,
    `Permission denied: ${id} requires the scope ${scope} in namespace ${namespace}${hint}`,
    { headers: ['www-authenticate', toScopeChallenge(scope)] },
  )
}
