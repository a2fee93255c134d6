import { ADMIN } from '../../core/auth/policy/account-rights.ts'
import { DEFAULT_RULE } from '../../core/auth/policy/default-rule.ts'
import type { Rule } from '../../core/contracts/auth.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import type { Accounts } from './accounts/accounts.ts'
import type { Rules } from './rules/rules.ts'

/** Account of the first operator. */
export const ADMIN_ID = 'admin'
const ERROR_ID = 'auth'

/**
 * Restores operators' access regardless of the accounts and rules of `mx`: creates the `admin` account with the `admin`
 * scope and a new password, restores the `default` rule, and deletes rules that deny operators a call to `auth`.
 *
 * @returns the ids of the deleted rules.
 */
export async function resetAccess(
  { accounts, rules }: { readonly accounts: Accounts; readonly rules: Rules },
  password: string,
): Promise<readonly string[]> {
  await resetAdmin(accounts, password)
  const change = { force: true }
  const existing = await rules.list(DEFAULT_NAMESPACE)
  const isDefault = (rule: Rule): boolean => rule.id === DEFAULT_RULE.id
  const removed = existing.filter((rule) => isDefault(rule) || deniesOperators(rule))
  for (const { id } of removed) await rules.delete(DEFAULT_NAMESPACE, id, change, ERROR_ID)
  await rules.create(DEFAULT_NAMESPACE, DEFAULT_RULE, change, ERROR_ID)
  return removed.filter((rule) => !isDefault(rule)).map(({ id }) => id)
}

async function resetAdmin(accounts: Accounts, password: string): Promise<void> {
  const existing = await accounts.find(DEFAULT_NAMESPACE, ADMIN_ID)
  if (existing?.id !== ADMIN_ID) {
    const name = existing === undefined ? ADMIN_ID : `${ADMIN_ID}.reset`
    const account = { id: ADMIN_ID, name, scopes: [ADMIN], secret: password }
    await accounts.create(DEFAULT_NAMESPACE, account, ERROR_ID)
    return
  }
  const scopes = [...new Set([...existing.scopes, ADMIN])]
  await accounts.setScopes(DEFAULT_NAMESPACE, ADMIN_ID, scopes, ERROR_ID)
  const secrets = { old: undefined, new: password }
  await accounts.changeSecret(DEFAULT_NAMESPACE, ADMIN_ID, secrets, ERROR_ID)
}

function deniesOperators({ access, scope, resource }: Rule): boolean {
  if (access !== 'DENIED' || !['', '*', '+', ADMIN].includes(scope)) return false
  const { type, name } = resource
  return ['*', 'service'].includes(type.toLowerCase()) && ['*', 'auth'].includes(name.toLowerCase())
}
