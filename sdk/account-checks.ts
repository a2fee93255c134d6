import { belongsTo } from '../core/auth/belongs-to.ts'
import type { Gate } from '../core/contracts/auth.ts'
import type { Account, Context } from './context.ts'
import { forbidden, unauthorized } from './errors.ts'
import { DEFAULT_NAMESPACE } from './namespace.ts'

/** Scopes that may administer. */
const ADMIN_SCOPES = ['admin', 'service']

/** Who calls, of whatever is called. */
type Called = Pick<Context, 'account'>

/**
 * Refuses a caller.
 *
 * @param namespace that the call is about.
 * @param id of the error.
 * @throws {GatewayError} 401 or 403 (reference 2.2).
 */
export type AccountCheck = (ctx: Context, namespace: string, id: string) => void

/** What a service of the platform asks of its callers besides the rules. */
export interface AccountChecks {
  readonly mustBeMember: AccountCheck
  readonly mustBeAdmin: AccountCheck
  /** That of the platform, whatever the call is about. */
  readonly mustBeOperator: (ctx: Context, id: string) => void
}

/** Those of a service with a gate; one without knows no accounts, and asks nothing. */
export function createAccountChecks(gate: Gate | undefined): AccountChecks {
  if (gate !== undefined) return { mustBeMember, mustBeAdmin, mustBeOperator }
  const ask = (): void => {}
  return { mustBeMember: ask, mustBeAdmin: ask, mustBeOperator: ask }
}

/**
 * The caller, who belongs to a namespace: an account of it, or a service or an administrator of the platform (reference 2.2).
 *
 * @param id of the error.
 * @throws {GatewayError} 401 for nobody, 403 for an account of another namespace.
 */
export function mustBeMember({ account }: Called, namespace: string, id: string): Account {
  if (account === undefined) throw unauthorized(id, 'An account is required')
  if (!belongsTo(account, namespace)) throw forbidden(id, 'Access denied to namespace')
  return account
}

/**
 * As {@link mustBeMember}, for a caller that may administer the namespace (reference 2.2).
 *
 * @throws {GatewayError} 401 for a member that may not.
 */
export function mustBeAdmin(ctx: Called, namespace: string, id: string): Account {
  const account = mustBeMember(ctx, namespace, id)
  if (!ADMIN_SCOPES.some((scope) => account.scopes.includes(scope)))
    throw unauthorized(id, 'Unauthorized')
  return account
}

/**
 * Refuses whoever does not run the platform: an account of it with the scope `admin`, which services that are deployed have not.
 *
 * @throws {GatewayError} 401, 403
 */
export function mustBeOperator(ctx: Context, id: string): void {
  const { scopes } = mustBeAdmin(ctx, DEFAULT_NAMESPACE, id)
  if (!scopes.includes('admin')) throw unauthorized(id, 'Unauthorized: it takes the scope admin')
}
