import t, { type Test } from 'tap'
import type { RequestQuotas } from '../../../../core/contracts/request-quotas.ts'
import { createQuotaLeases } from '../../../../plugins/traffic/quota/quota-leases.ts'
import { createTestEnv } from '../../../../sdk/testing.ts'
import { openAuthParts } from '../../../fixtures/auth-parts.ts'

const LIMIT = 1000
const toCounter = (account: string) => () =>
  ({ quota: 'requests', period: 'day', namespace: 'mx', account, apiKey: '' }) as const

/** Opens leases of several gateways that share a store, with a mock clock. */
async function open(t: Test, { batch = 10, gateways = 1 } = {}) {
  const parts = await openAuthParts(t)
  const { requestQuotas, nowMs } = parts
  const { log, messages } = createTestEnv()
  const state = { reservations: 0, outage: undefined as Error | undefined }
  const quotas: RequestQuotas = {
    reserve: async (request) => {
      state.reservations++
      if (state.outage !== undefined) throw state.outage
      return requestQuotas.reserve(request)
    },
    release: async (request) => {
      if (state.outage !== undefined) throw state.outage
      return requestQuotas.release(request)
    },
  }
  const all = Array.from({ length: gateways }, () => {
    const leases = createQuotaLeases({ quotas, batch, log, nowMs })
    t.teardown(leases.close)
    return leases
  })
  const take = async (gateway = 0, limit = LIMIT, account = 'jane') =>
    all[gateway]!.take(account, toCounter(account), limit)
  const used = async () => {
    const { usage } = await requestQuotas.list('mx', { period: 'day', limit: 10 })
    return usage.map((each) => each.used)
  }
  return { ...parts, all, take, used, state, messages }
}

t.test('a batch of requests needs one reservation', async (t) => {
  const { take, used, state } = await open(t)
  t.match(await take(), { isAllowed: true, remaining: 999 })
  for (let i = 0; i < 4; i++) t.match(await take(), { isAllowed: true })
  t.equal(state.reservations, 1)
  t.same(await used(), [10])
})

t.test('the next batch is reserved before the last request is taken', async (t) => {
  const { all, take, state } = await open(t)
  for (let i = 0; i < 6; i++) await take()
  t.equal(state.reservations, 2)
  await new Promise((resolve) => setImmediate(resolve))
  const decision = all[0]!.take('jane', toCounter('jane'), LIMIT)
  t.notOk(decision instanceof Promise, 'synchronous')
})

t.test('admits exactly the limit, with concurrent requests and several gateways', async (t) => {
  const gateways = 3
  const { take, all, used } = await open(t, { gateways, batch: 7 })
  const limit = 100
  let admitted = 0
  for (let round = 0; round < 60; round++) {
    const decisions = await Promise.all(
      Array.from({ length: gateways }, (_, gateway) => take(gateway, limit)),
    )
    admitted += decisions.filter(({ isAllowed }) => isAllowed).length
  }
  t.ok(admitted <= limit, `${admitted} requests`)
  t.ok(admitted >= limit - gateways * 2, `${admitted} requests`)
  for (const leases of all) await leases.close()
  t.same(await used(), [admitted], 'unused leases are released')
})

t.test('a flood of concurrent requests is limited', async (t) => {
  const { take, used } = await open(t)
  const decisions = await Promise.all(Array.from({ length: 200 }, () => take(0, 50)))
  t.equal(decisions.filter(({ isAllowed }) => isAllowed).length, 50)
  t.same(await used(), [50])
  t.match(decisions.at(-1), { isAllowed: false, remaining: 0, resetMs: Number })
})

t.test('a crash counts at most a batch too many, never too few', async (t) => {
  const { take, used } = await open(t)
  for (let i = 0; i < 23; i++) await take()
  const [count = 0] = await used()
  t.ok(count >= 23 && count <= 23 + 10, `${count} of 23`)
})

t.test('closing releases unused requests', async (t) => {
  const { take, all, used } = await open(t)
  for (let i = 0; i < 3; i++) await take()
  await take(0, LIMIT, 'joe')
  await all[0]!.close()
  t.same(await used(), [3, 1])
})

t.test('a lease without requests for 10 seconds is released', async (t) => {
  const { take, all, used, clock } = await open(t)
  await take()
  clock.ms += 5000
  await take(0, LIMIT, 'joe')
  clock.ms += 5000
  await all[0]!.sweep()
  t.same(await used(), [1, 10])
  t.match(await take(), { isAllowed: true })
  t.same(await used(), [11, 10])
})

t.test('an exhausted quota is checked again after a second', async (t) => {
  const { take, all, clock, state } = await open(t, { gateways: 2, batch: 1 })
  t.match(await take(0, 1), { isAllowed: true })
  t.match([await take(1, 1), await take(1, 1)], [{ isAllowed: false }, { isAllowed: false }])
  t.equal(state.reservations, 2)
  all[0]!.refund(await take(0, 2))
  await all[0]!.close()
  t.match(await take(1, 1), { isAllowed: false })
  clock.ms += 1000
  t.match(await take(1, 1), { isAllowed: false })
  t.match(await take(1, 2), { isAllowed: true }, 'a higher limit applies immediately')
})

t.test('a refunded request can be taken again', async (t) => {
  const { take, all, used } = await open(t)
  all[0]!.refund(await take())
  await all[0]!.close()
  t.same(await used(), [0])
})

t.test('requests in a new period are not admitted from an old lease', async (t) => {
  const { take, used, clock } = await open(t)
  await take()
  clock.ms += 86_400_000
  t.match(await take(), { isAllowed: true, remaining: 999 })
  t.same(await used(), [10])
})

t.test('requests after a reset are counted', async (t) => {
  const { take, used, requestQuotas, all } = await open(t)
  await take()
  await requestQuotas.reset('mx', { account: 'jane' }, 'id')
  for (let i = 0; i < 30; i++) await take()
  await all[0]!.close()
  const [count = 0] = await used()
  t.ok(count >= 30 - 10 && count <= 30, `${count}`)
})

t.test('an outage fails requests without a lease, at most one attempt per second', async (t) => {
  const { take, state, clock, messages, all } = await open(t, { batch: 2 })
  await take()
  state.outage = new Error('unavailable')
  t.match(await take(), { isAllowed: true }, 'the lease remains usable')
  const outage = { code: 503, headers: ['retry-after', '1'] }
  await t.rejects(take(), outage)
  await t.rejects(take(), outage)
  t.ok(state.reservations <= 3, `${state.reservations} reservations`)
  clock.ms += 1000
  state.outage = undefined
  t.match(await take(), { isAllowed: true })
  state.outage = new Error('unavailable')
  await all[0]!.close()
  t.ok(messages.includes('warn: cannot count requests of a quota'))
})
