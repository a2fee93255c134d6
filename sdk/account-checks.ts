import type { Gate } from '../core/contracts/auth.ts'
import { mustBeAdmin, mustBeMember } from './check-account.ts'
import type { Context } from './context.ts'

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
}

/** Those of a service with a gate; one without knows no accounts, and asks nothing. */
export function createAccountChecks(gate: Gate | undefined): AccountChecks {
  if (gate !== undefined) return { mustBeMember, mustBeAdmin }
  const ask = (): void => {}
  return { mustBeMember: ask, mustBeAdmin: ask }
}
