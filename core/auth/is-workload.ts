import type { Account } from '../contracts/auth.ts'

const SCOPE = 'workload:'
/** Metadata of accounts that the runtime made before there was the scope. */
const RUNTIME = 'runtime'

/** Whether an account is that of a program which the runtime of the platform runs. */
export function isWorkload(account: Pick<Account, 'id' | 'scopes' | 'metadata'>): boolean {
  const { id, scopes, metadata } = account
  return scopes.some((scope) => scope.startsWith(SCOPE)) || metadata[RUNTIME] === id
}
