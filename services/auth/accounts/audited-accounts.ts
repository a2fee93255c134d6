import type { Audit } from '../audit.ts'
import type { Accounts } from './accounts.ts'

/** Accounts for other parts of the server: what they change is told the audit, as the server's own doing. */
export function auditAccounts(accounts: Accounts, audit: Audit): Accounts {
  const tell = (action: string, namespace: string, target: string): void =>
    audit(undefined, action, { namespace, target })
  return {
    ...accounts,

    async create(namespace, given, errorId) {
      const created = await accounts.create(namespace, given, errorId)
      tell('account.create', namespace, given.id)
      return created
    },

    async delete(namespace, id, errorId) {
      const isDeleted = await accounts.delete(namespace, id, errorId)
      if (isDeleted) tell('account.delete', namespace, id)
      return isDeleted
    },

    async changeSecret(namespace, id, secrets, errorId) {
      await accounts.changeSecret(namespace, id, secrets, errorId)
      tell('account.change-secret', namespace, id)
    },

    async setScopes(namespace, id, scopes, errorId) {
      const isChanged = await accounts.setScopes(namespace, id, scopes, errorId)
      if (isChanged) tell('account.change-scopes', namespace, id)
      return isChanged
    },

    async revoke(namespace, id, errorId) {
      await accounts.revoke(namespace, id, errorId)
      tell('account.revoke', namespace, id)
    },
  }
}
