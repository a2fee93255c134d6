import type { Audit } from '../audit.ts'
import type { Accounts } from './accounts.ts'

/** Accounts for other server components. Changes are audited as made by the server. */
export function auditAccounts(accounts: Accounts, audit: Audit): Accounts {
  const record = (action: string, namespace: string, target: string): void =>
    audit(undefined, action, { namespace, target })
  return {
    ...accounts,

    async create(namespace, input, errorId) {
      const created = await accounts.create(namespace, input, errorId)
      record('account.create', namespace, input.id)
      return created
    },

    async delete(namespace, id, errorId) {
      const isDeleted = await accounts.delete(namespace, id, errorId)
      if (isDeleted) record('account.delete', namespace, id)
      return isDeleted
    },

    async changeSecret(namespace, id, secrets, errorId) {
      await accounts.changeSecret(namespace, id, secrets, errorId)
      record('account.change-secret', namespace, id)
    },

    async setScopes(namespace, id, scopes, errorId) {
      const isChanged = await accounts.setScopes(namespace, id, scopes, errorId)
      if (isChanged) record('account.change-scopes', namespace, id)
      return isChanged
    },

    async revoke(namespace, id, errorId) {
      await accounts.revoke(namespace, id, errorId)
      record('account.revoke', namespace, id)
    },
  }
}
