import { noQuota, type Quota, quotaReached } from '../../../core/limits/quota.ts'
import type { Store } from '../../../domain/store/store.ts'
import { AUTH_TABLE, toAccountsPrefix } from '../records.ts'

/** Quotas of a namespace in the `auth` service. Changes by operators are not limited. */
export interface AuthQuotas {
  readonly accounts: Quota
  readonly rules: Quota
}

export const NO_AUTH_QUOTAS: AuthQuotas = {
  accounts: noQuota('quota_accounts'),
  rules: noQuota('quota_rules'),
}

/**
 * Creates an account if the quota allows another one. Creations in progress are included.
 *
 * @throws {GatewayError} 429 with the name of the quota.
 */
export type AdmitAccount = <T>(
  namespace: string,
  errorId: string,
  create: () => Promise<T>,
) => Promise<T>

export function createAdmitAccount(store: Store, quota: Quota): AdmitAccount {
  /** Number of creations in progress by namespace. */
  const creating = new Map<string, number>()

  async function count(namespace: string, limit: number): Promise<number> {
    let accounts = 0
    let after: string | undefined
    do {
      const query = { prefix: toAccountsPrefix(namespace), keysOnly: true, ...(after && { after }) }
      const page = await store.list(AUTH_TABLE, query)
      accounts += page.records.length
      after = page.next
    } while (after !== undefined && accounts < limit)
    return accounts
  }

  return async (namespace, errorId, create) => {
    const limit = quota.limitOf(namespace)
    if (limit === Number.POSITIVE_INFINITY) return create()
    const inProgress = creating.get(namespace) ?? 0
    creating.set(namespace, inProgress + 1)
    try {
      const used = inProgress + (await count(namespace, limit))
      checkCount(quota, { namespace, used, limit, resource: 'accounts' }, errorId)
      return await create()
    } finally {
      const remaining = creating.get(namespace)! - 1
      if (remaining === 0) creating.delete(namespace)
      else creating.set(namespace, remaining)
    }
  }
}

interface Count {
  readonly namespace: string
  readonly used: number
  readonly limit: number
  readonly resource: 'accounts' | 'rules'
}

/** @throws {GatewayError} 429 if the quota is reached. */
export function checkCount(
  quota: Quota,
  { namespace, used, limit, resource }: Count,
  errorId: string,
): void {
  if (used < limit) return
  throw quotaReached(errorId, 429, quota, {
    ...{ namespace, limit: `${limit} ${resource}`, used: `${used}` },
    remedy: `delete ${resource}`,
  })
}
