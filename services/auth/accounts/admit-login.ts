import { isOperator } from '../../../core/auth/policy/account-rights.ts'
import { judgeByRules, toAccessDenied } from '../../../core/auth/policy/decision.ts'
import type { Account, Authorizer, Resource } from '../../../core/contracts/auth.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { Context } from '../../../sdk/context.ts'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'

/**
 * Applies the rules to a login, which gateway and RPC proxy forward without asking them (decision 32): operators log in whatever
 * the rules say.
 *
 * @param logIn verifies credentials, and calls `mustBeAllowed` with the account they are of before it changes anything.
 * @throws {GatewayError} 401 where the rules deny the call and the account is not an operator's. Wrong credentials are the same
 * error then, and a failed login to the limit, so that the answer never says whether a secret is right.
 */
export type AdmitLogin = <T>(
  ctx: Context,
  logIn: (mustBeAllowed: (account: Account) => void) => Promise<T>,
) => Promise<T>

const TOKEN: Resource = { type: 'service', name: 'auth', endpoint: 'Auth.Token' }
const ALLOW = (): void => {}

/** @param gate undefined: no rules are enforced. */
export function createAdmitLogin(gate: Authorizer | undefined): AdmitLogin {
  return async (ctx, logIn) => {
    const target = { namespace: ctx.namespace, domain: DEFAULT_NAMESPACE, resource: TOKEN }
    const caller = ctx.account as Account | undefined
    const isGranted = gate === undefined || (await judgeByRules(gate, caller, target)).granted
    if (isGranted) return logIn(ALLOW)
    try {
      return await logIn((account) => {
        if (!isOperator(account)) throw toAccessDenied(TOKEN, account)
      })
    } catch (error) {
      if (error instanceof GatewayError && error.code === 400) throw toAccessDenied(TOKEN, caller)
      throw error
    }
  }
}
