import { createQuotaLeases } from '../../plugins/traffic/quota/quota-leases.ts'
import type { Micro } from './micro.ts'

const ACCOUNTS = 10_000
const accounts = Array.from({ length: ACCOUNTS }, (_, i) => `mx/account-${i}`)
const nothing = (): void => {}

/** Requests of many accounts from leases that are never used up. */
async function createRun(): Promise<() => unknown> {
  const leases = createQuotaLeases({
    quotas: {
      reserve: async () => ({ granted: 1e9, used: 0, epoch: '', leftMs: 1e9 }),
      release: async () => {},
    },
    batch: 1,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    nowMs: Date.now,
  })
  const toCounter = () =>
    ({ quota: 'bench', period: 'day', namespace: 'mx', account: '', apiKey: '' }) as const
  for (const account of accounts) await leases.take(account, toCounter, 1e9)
  let i = 0
  return () => leases.take(accounts[i++ % ACCOUNTS]!, toCounter, 1e9)
}

const micro: Micro = {
  benches: { leased: await createRun() },
  budgetNs: { leased: 250 },
}

export default micro
