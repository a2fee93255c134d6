import t, { type Test } from 'tap'
import type { RequestQuotas } from '../../../../core/contracts/request-quotas.ts'
import type { QuotaEvent } from '../../../../services/auth/request-quotas/request-quotas.ts'
import { testRequestQuotas } from '../../../contracts/request-quotas.ts'
import { ADMIN, type Caller, openPlatformAuth } from '../../../fixtures/platform-auth.ts'

const GATEWAY: Caller = { id: 'gateway', type: 'service', scopes: ['service'] }
const JANE: Caller = { id: 'jane' }
const OWNER = { namespace: 'mx', account: 'jane', apiKey: '' }
const COUNTER = { quota: 'requests', period: 'day', ...OWNER } as const
const RESERVATION = { counter: COUNTER, limit: 10, requests: 1 }

async function open(t: Test, options: Parameters<typeof openPlatformAuth>[1] = {}) {
  const auth = await openPlatformAuth(t, options)
  const quotas: RequestQuotas = {
    reserve: (request) => auth.call('RequestQuotas.Reserve', request, GATEWAY),
    release: (request) => auth.call('RequestQuotas.Release', request, GATEWAY),
  }
  const list = async (caller: Caller, request: object = {}) =>
    (await auth.call<{ usage: object[] }>('RequestQuotas.List', request, caller)).usage
  return { ...auth, quotas, list }
}

t.test('endpoints of request quotas', (t) => testRequestQuotas(t, open))

t.test('only gateways of the platform or the namespace count requests', async (t) => {
  const { call } = await open(t)
  const reserve = (caller: Caller | undefined, namespace = 'mx') =>
    call('RequestQuotas.Reserve', { ...RESERVATION, counter: { ...COUNTER, namespace } }, caller)
  const workload: Caller = { id: 'shop', type: 'service', scopes: ['workload:mx/shop'] }
  const unscoped: Caller = { ...GATEWAY, scopes: [] }
  const other: Caller = { ...GATEWAY, issuer: 'acme' }
  for (const caller of [undefined, JANE, workload, unscoped, other])
    await t.rejects(reserve(caller), { code: 403, message: /requires the scope service/ })
  await reserve({ ...GATEWAY, issuer: 'acme' }, 'acme')
  await reserve(GATEWAY, 'acme')
  await reserve(ADMIN)
  const release = { counter: COUNTER, epoch: '', requests: 1 }
  await t.rejects(call('RequestQuotas.Release', release, JANE), { code: 403 })
})

t.test('administrators list and reset all counts, other accounts list their own', async (t) => {
  const { call, quotas, list, records } = await open(t)
  for (const account of ['jane', 'joe'])
    await quotas.reserve({ ...RESERVATION, counter: { ...COUNTER, account } })
  const own = {
    ...{ quota: 'requests', period: 'day', account: 'jane', api_key: '', used: 1, limit: 10 },
    ...{ start: Date.UTC(2027, 0, 15) / 1000, ends: Date.UTC(2027, 0, 16) / 1000 },
  }
  t.match(await list(ADMIN), [own, { account: 'joe' }])
  t.match(await list(ADMIN, { account: 'joe' }), [{ account: 'joe' }])
  t.strictSame(await list(JANE), [own])
  t.same(await list(JANE, { period: 'month' }), [])
  await t.rejects(list(JANE, { account: 'joe' }), { code: 401 })
  const reset = (caller: Caller, account = 'jane') =>
    call('RequestQuotas.Reset', { account }, caller)
  await t.rejects(reset(JANE), { code: 401 })
  await t.rejects(reset(ADMIN, ''), { code: 400 })
  t.same(await reset(ADMIN), { count: 1 })
  t.match(await list(JANE), [{ used: 0 }])
  t.match(records.slice(-1), [{ action: 'quota.reset', target: 'jane' }])
})

t.test('logs a quota event that cannot be published', async (t) => {
  const events: QuotaEvent[] = []
  const { quotas, lines } = await open(t, {
    onQuota(event) {
      events.push(event)
      throw new Error('no topic')
    },
  })
  await quotas.reserve({ ...RESERVATION, limit: 1 })
  t.match(events, [{ action: 'quota.exhausted' }])
  while (!lines.some((line) => line.includes('cannot publish quota event')))
    await new Promise((resolve) => setImmediate(resolve))
})
