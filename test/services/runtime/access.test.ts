import t from 'tap'
import { mustBeAdmin, mustBeOperator } from '../../../sdk/auth/account-checks.ts'
import type { Account, Context } from '../../../sdk/context.ts'
import { createRunCheck } from '../../../services/runtime/access.ts'

const checks = { mustBeAdmin, mustBeOperator }

/** Code and message of the denial, or undefined if allowed. */
function deny(account: Partial<Account> | undefined, namespace: string, namespaces?: string[]) {
  const ctx = { account: account && { id: 'a', scopes: [], ...account } } as unknown as Context
  try {
    return createRunCheck({ checks, namespaces })(ctx, namespace, 'runtime')
  } catch (error) {
    const { code, message } = error as Error & { code: number }
    return [code, message]
  }
}

t.test(
  'allows operators to run programs in every namespace, and administrators in listed ones',
  async (t) => {
    const operator = { issuer: 'mx', scopes: ['admin'] }
    const tenant = { issuer: 'tb', scopes: ['admin'] }
    t.equal(deny(operator, 'mx', []), undefined)
    t.equal(deny(operator, 'tb', []), undefined)
    t.equal(deny(tenant, 'tb', ['ta', 'tb']), undefined)
    t.equal(deny(tenant, 'tb'), undefined, 'images are isolated by the cluster')
    t.match(deny(tenant, 'tb', ['ta']), [403, /namespace tb, list it in runtime_namespaces/])
    t.match(deny({ issuer: 'mx', scopes: ['service'] }, 'mx', []), [401, /the scope admin/])
    t.match(deny(tenant, 'mx', ['mx']), [403])
    t.match(deny({ issuer: 'tb', scopes: ['read'] }, 'tb', ['tb']), [401])
    t.match(deny(undefined, 'tb', ['tb']), [401])
  },
)
