import { isOperator } from '../../../core/auth/policy/account-rights.ts'
import { decideByRules, toAccessDenied } from '../../../core/auth/policy/decision.ts'
import type { Account, Authorizer, Resource } from '../../../core/contracts/auth.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { Context } from '../../../sdk/context.ts'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'

/**
 * Applies the rules to a login, which the gateway and the RPC proxy forward unchecked (decision
 * 32). Operators can always log in.
 *
 * @param logIn verifies credentials, and calls `mustBeAllowed` with their account before it changes
 * anything.
 * @throws {GatewayError} 401 if the rules deny the call and the account is not an operator. Wrong
 * credentials then fail with the same error and count as a failed login, so that the response never
 * reveals whether a secret is correct.
 */
export type AdmitLogin = <T>(
  ctx: Context,
  logIn: (mustBeAllowed: (account: Account) => void) => Promise<T>,
) => Promise<T>

const TOKEN: Resource = { type: 'service', name: 'auth', endpoint: 'Auth.Token' }
const ALLOW = (): void => {}

/** @param authorizer if undefined, rules are not enforced. */
export function createAdmitLogin(authorizer: Authorizer | undefined): AdmitLogin {
  return async (ctx, logIn) => {
    const target = { namespace: ctx.namespace, domain: DEFAULT_NAMESPACE, resource: TOKEN }
    const caller = ctx.account as Account | undefined
    const isGranted =
      authorizer === undefined || (await decideByRules(authorizer, caller, target)).granted
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
