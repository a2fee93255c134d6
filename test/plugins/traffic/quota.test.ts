import t, { type Test } from 'tap'
import type { Plugin } from '../../../core/chain.ts'
import type { Account, ApiKeyLimits, Authorizer } from '../../../core/contracts/auth.ts'
import type { RequestQuotas } from '../../../core/contracts/request-quotas.ts'
import plugin from '../../../plugins/traffic/quota.ts'
import { buildPlugin, createTestEnv, runPlugin } from '../../../sdk/testing.ts'
import { openAuthParts } from '../../fixtures/auth-parts.ts'
import { createAccount } from '../../fixtures/auth-source.ts'
import { openAuthorizer } from '../../fixtures/authorizer.ts'

const DAILY = { name: 'daily', limit: 3, period: 'day' }
const JANE = createAccount()
const KEY = createAccount({ apiKey: '00112233445566ff' })
/** Until the end of the day, 16 hours after the mock time. */
const LEFT_S = '57600'

async function open(t: Test, options: object, quotas?: RequestQuotas) {
  const parts = await openAuthParts(t)
  const { authorizer } = await openAuthorizer(t)
  const requestQuotas = quotas ?? parts.requestQuotas
  const env = { ...createTestEnv(), nowMs: parts.nowMs }
  const built = buildPlugin(plugin, options, {
    ...env,
    authorizer: { ...authorizer, requestQuotas } satisfies Authorizer,
  })
  t.teardown(() => built.close?.())
  const send = (account?: Account, limits: ApiKeyLimits = {}) => {
    const caller: Plugin = {
      name: 'caller',
      onRequest(x) {
        if (account !== undefined) x.session = { account, limits, id: '', issuedMs: 0, endsMs: 0 }
      },
    }
    return runPlugin([caller, built])
  }
  return { ...parts, send, built }
}

t.test('rejects requests beyond the limit with 429 until the end of the day', async (t) => {
  const { send } = await open(t, { rules: [DAILY] })
  for (let i = 0; i < 3; i++) t.equal((await send(JANE)).status, 200)
  const rejected = await send(JANE)
  t.equal(rejected.status, 429)
  t.notOk(rejected.forwarded)
  t.match(JSON.parse(rejected.body), {
    Detail: `quota daily exceeded: 3 requests per day; retry in ${LEFT_S} s`,
  })
  t.equal(rejected.headers.get('retry-after'), LEFT_S)
  t.equal((await send(createAccount({ id: 'joe' }))).status, 200, 'another account')
})

t.test('counts by account or API key; callers without a key count by account', async (t) => {
  const { send, requestQuotas } = await open(t, {
    rules: [DAILY, { name: 'keys', limit: 2, period: 'month', key: 'api_key' }],
  })
  t.equal((await send(KEY)).status, 200)
  t.equal((await send(JANE)).status, 200)
  t.equal((await send(KEY)).status, 200)
  t.match(JSON.parse((await send(JANE)).body), { Detail: /^quota daily exceeded/ })
  const { usage } = await requestQuotas.list('mx', { period: 'month', limit: 10 })
  t.match(usage, [
    { apiKey: '', used: 1 },
    { apiKey: KEY.apiKey, used: 2 },
  ])
})

t.test('an anonymous request is not counted', async (t) => {
  const { send, requestQuotas } = await open(t, { rules: [DAILY] })
  const { status, headers } = await send()
  t.same([status, headers.get('ratelimit')], [200, undefined])
  t.same((await requestQuotas.list('mx', { period: 'day', limit: 10 })).usage, [])
})

t.test('a request that one rule rejects is not counted by the others', async (t) => {
  const rules = [DAILY, { ...DAILY, name: 'strict', limit: 1 }]
  const { send, built, requestQuotas } = await open(t, { rules })
  for (let i = 0; i < 5; i++) await send(JANE)
  await built.close?.()
  const { usage } = await requestQuotas.list('mx', { period: 'day', limit: 10 })
  t.match(usage, [
    { quota: 'daily', used: 1 },
    { quota: 'strict', used: 1 },
  ])
})

t.test('the limits of an API key reduce the limit of rules by API key', async (t) => {
  const { send } = await open(t, { rules: [{ ...DAILY, key: 'api_key' }] })
  t.equal((await send(KEY, { day: 1, month: 1 })).status, 200)
  t.match(JSON.parse((await send(KEY, { day: 1 })).body), { Detail: /1 requests per day/ })
  t.equal((await send(KEY, { day: 100 })).status, 200)
  t.equal((await send(KEY, { day: 100 })).status, 200)
  t.equal((await send(KEY, { day: 100 })).status, 429)
})

t.test('describes all rules in structured fields, even when a request is rejected', async (t) => {
  const rules = [DAILY, { name: 'monthly', limit: 100, period: 'month' }]
  const { send } = await open(t, { rules })
  const { headers } = await send(JANE)
  t.equal(headers.get('ratelimit-policy'), '"daily";q=3;w=86400, "monthly";q=100;w=2592000')
  t.equal(headers.get('ratelimit'), `"daily";r=2;t=${LEFT_S}, "monthly";r=99;t=1440000`)
  t.equal(headers.get('x-ratelimit-limit'), undefined)
  for (let i = 0; i < 2; i++) await send(JANE)
  t.equal((await send(JANE)).headers.get('ratelimit'), `"daily";r=0;t=${LEFT_S}`)
})

t.test('sends legacy headers of the strictest rule, and none on request', async (t) => {
  const names = ['ratelimit', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
  const read = async (options: object) => {
    const { send } = await open(t, options)
    const { headers } = await send(JANE)
    return names.map((name) => headers.get(name))
  }
  const rules = [{ ...DAILY, name: 'large', limit: 100 }, DAILY]
  t.same(await read({ rules, headers: false, legacy_headers: true }), [undefined, '3', '2', LEFT_S])
  t.same(
    await read({ rules, headers: false }),
    names.map(() => undefined),
  )
})

t.test('rejects or allows requests while they cannot be counted', async (t) => {
  const unavailable = async (): Promise<never> => {
    throw new Error('unavailable')
  }
  const quotas: RequestQuotas = { reserve: unavailable, release: unavailable }
  const rejecting = await open(t, { rules: [DAILY] }, quotas)
  for (let i = 0; i < 2; i++)
    t.match(await rejecting.send(JANE), { status: 503, body: /cannot be counted/ })
  const allowing = await open(t, { rules: [DAILY], outage: 'allow' }, quotas)
  for (let i = 0; i < 5; i++) {
    const { status, headers } = await allowing.send(JANE)
    t.same([status, headers.get('ratelimit')], [200, undefined])
  }
})

t.test('rejects duplicate names, and a gateway without a server that counts', async (t) => {
  t.throws(() => buildPlugin(plugin, { rules: [DAILY] }), { message: /set --auth=mx:/ })
  await t.rejects(open(t, { rules: [DAILY, { ...DAILY, period: 'month' }] }), {
    message: 'plugin "quota": rules: duplicate name daily',
  })
})
