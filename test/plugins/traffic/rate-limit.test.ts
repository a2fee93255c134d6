import t from 'tap'
import type { Exchange } from '../../../core/exchange.ts'
import plugin from '../../../plugins/traffic/rate-limit.ts'
import {
  buildPlugin,
  createTestEnv,
  runPlugin,
  type TestRequest,
  type TestResult,
} from '../../../sdk/testing.ts'

const RULE = { name: 'per-client', limit: 2, window: '1m' }

function open(options: object): (request?: TestRequest) => Promise<TestResult> {
  const built = buildPlugin(plugin, options)
  return (request = {}) => runPlugin(built, request)
}

const getFields = ({ headers }: TestResult, ...names: string[]) =>
  names.map((name) => headers.get(name))

t.test('rejects requests beyond the limit with 429 and the time to wait', async (t) => {
  const send = open({ rules: [RULE] })
  t.equal((await send()).status, 200)
  t.equal((await send()).status, 200)
  const rejected = await send()
  t.equal(rejected.status, 429)
  t.notOk(rejected.forwarded)
  t.match(JSON.parse(rejected.body), {
    Detail: /^rate limit per-client exceeded: 2 requests per 60 s; retry in (29|30) s$/,
  })
  t.match(rejected.headers.get('retry-after'), /^(29|30)$/)
  t.equal((await send({ remoteAddress: '192.0.2.1' })).status, 200, 'another client')
})

t.test('describes the limits of all rules in structured fields', async (t) => {
  const send = open({ rules: [RULE, { name: 'all', key: ['host'], limit: 100, window: '1h' }] })
  await send()
  const [policy, limit] = getFields(await send(), 'ratelimit-policy', 'ratelimit')
  t.equal(policy, '"per-client";q=2;w=60, "all";q=100;w=3600')
  t.match(limit, /^"per-client";r=0;t=(59|60), "all";r=98;t=7[12]$/)
  const rejected = await send()
  t.match(rejected.headers.get('ratelimit'), /^"per-client";r=0;t=(59|60)$/)
})

t.test('sends legacy headers of the strictest rule, and none on request', async (t) => {
  const names = ['ratelimit', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
  const rules = [{ name: 'all', key: ['host'], limit: 100 }, RULE]
  const legacy = open({ rules, headers: false, legacy_headers: true })
  t.match(getFields(await legacy(), ...names), [undefined, '2', '1', /^(29|30)$/])
  t.same(
    getFields(await open({ rules, headers: false })(), ...names),
    names.map(() => undefined),
  )
})

t.test('counts only the listed methods, by cost', async (t) => {
  const send = open({ rules: [{ ...RULE, limit: 10, cost: 5, methods: ['post'] }] })
  const statuses: number[] = []
  for (const method of ['GET', 'POST', 'POST', 'POST', 'GET'])
    statuses.push((await send({ method })).status)
  t.same(statuses, [200, 200, 200, 429, 200])
})

t.test('a rule for GET also counts HEAD', async (t) => {
  const send = open({ rules: [{ ...RULE, limit: 1, methods: ['GET'] }] })
  t.same([(await send()).status, (await send({ method: 'HEAD' })).status], [200, 429])
})

t.test('a shadow rule rejects nothing and logs what it would have rejected', async (t) => {
  const entries: object[] = []
  const env = createTestEnv()
  const warn = (details: object) => void entries.push(details)
  const options = { rules: [{ ...RULE, shadow: true }] }
  const built = buildPlugin(plugin, options, { ...env, log: { ...env.log, warn } })
  for (let i = 0; i < 5; i++) {
    const result = await runPlugin(built)
    t.equal(result.status, 200)
    t.notOk(result.headers.has('ratelimit'))
  }
  t.same(entries, [{ rule: 'per-client', requests: 1 }], 'one entry per interval')
})

t.test('counts by account after authentication', async (t) => {
  const built = buildPlugin(plugin, { rules: [{ ...RULE, key: ['account'] }] })
  const login = {
    name: 'login',
    onRequest(x: Exchange) {
      const id = x.headers.get('x-user')
      if (id === undefined) return
      x.session = { account: { id, issuer: 'mx' }, id, issuedMs: 0, endsMs: 0 } as never
    },
  }
  // Authentication is listed after the limit.
  const send = async (user: string) =>
    (await runPlugin([built, login], { headers: { 'x-user': user } })).status
  t.same([await send('ann'), await send('ann'), await send('ann')], [200, 200, 429])
  t.equal(await send('bob'), 200)
})

t.test('rejects invalid rules with their name', (t) => {
  const build = (...rules: object[]) => buildPlugin(plugin, { rules })
  t.throws(() => build(), /rules/)
  t.throws(() => build({ ...RULE, limit: 0 }), /limit/)
  t.throws(() => build({ ...RULE, name: 'Per Client' }), /name/)
  t.throws(() => build({ ...RULE, window: '10ms' }), /rule per-client: window must be from 1s/)
  t.throws(() => build({ ...RULE, window: '60' }), /rule per-client: window .*unit/)
  t.throws(() => build({ ...RULE, cost: 3 }), /rule per-client: cost must be at most burst \(2\)/)
  t.throws(() => build({ ...RULE, key: ['session'] }), /rule per-client: key must be ip/)
  t.throws(() => build(RULE, RULE), /duplicate name per-client/)
  t.end()
})
