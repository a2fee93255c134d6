import t from 'tap'
import { type Plugin, runSteps } from '../../../../core/chain.ts'
import type { Account } from '../../../../core/contracts/auth.ts'
import type { Endpoint } from '../../../../core/contracts/registry.ts'
import { dashboardCookie } from '../../../../core/http/dashboard-cookie.ts'
import { compileChain } from '../../../../core/plugin/compile-chain.ts'
import { createPlugin } from '../../../../core/plugin/define.ts'
import { toRoute } from '../../../../core/route.ts'
import { Upstream } from '../../../../core/upstream/upstream.ts'
import { createPolicyFinder } from '../../../../platform/gateway/routes/endpoint-policies.ts'
import bodyLimit from '../../../../plugins/http/body-limit.ts'
import { createTestEnv, createTestExchange } from '../../../../sdk/testing.ts'

const JANE: Account = {
  ...{ id: 'jane', name: 'jane', issuer: 'mx', scopes: [], metadata: {} },
  type: 'user',
}

function toEndpoint(metadata: Record<string, string>, name = 'Greeter.Hello'): Endpoint {
  const value = { name: 'x', type: 'Object', values: [] }
  return { name, metadata, request: value, response: value }
}

t.test('an endpoint without policies has no plugins', async (t) => {
  const find = createPolicyFinder(createTestEnv())
  t.equal(find('greeter', toEndpoint({ path: '/hello' })), undefined)
})

t.test('an unchanged endpoint keeps its plugins after a registry update', async (t) => {
  const find = createPolicyFinder(createTestEnv())
  const first = find('greeter', toEndpoint({ 'policy.body-limit': '{"limit":3}' }))
  t.strictSame(
    first?.map(({ name }) => name),
    ['body-limit'],
  )
  t.equal(find('greeter', toEndpoint({ 'policy.body-limit': '{"limit":3}' })), first)
  t.not(find('greeter', toEndpoint({ 'policy.body-limit': '{"limit":4}' })), first)
  t.not(find('other', toEndpoint({ 'policy.body-limit': '{"limit":3}' })), first)
})

t.test('a policy is rejected with the reason, and its endpoint responds with 500', async (t) => {
  for (const [name, text, reason] of [
    [
      'forward-auth',
      '{"address":"http://169.254.169.254"}',
      /plugin "forward-auth" is not allowed in the plugins of an endpoint/,
    ],
    ['access-log', '{}', /is not allowed in the plugins of an endpoint/],
    ['./evil.ts', '{}', /unknown built-in plugin/],
    ['constructor', '{}', /unknown built-in plugin/],
    ['body-limit', '{"limt":3}', /unknown option "limt"/],
    ['ip-allow', '{"allow":["10.0.0.0/99"]}', /10\.0\.0\.0\/99/],
    ['body-limit', 'none', /JSON/],
  ] as const) {
    const find = createPolicyFinder(createTestEnv())
    const [plugin] = find('greeter', toEndpoint({ [`policy.${name}`]: text }))!
    t.throws(() => plugin!.onRoute!(createTestExchange()), { code: 500, message: reason }, name)
  }
})

t.test(
  'policies apply in addition to plugins of the gateway, and to their endpoint only',
  async (t) => {
    const upstream = new Upstream('greeter', {
      createPool: () => {
        throw new Error('unused')
      },
    })
    upstream.update([
      {
        ...{ name: 'greeter', version: '1', metadata: {}, nodes: [] },
        endpoints: [
          toEndpoint({
            'policy.body-limit': '{"limit":100}',
            'policy.ip-allow': '{"allow":["10.0.0.0/8"]}',
          }),
          toEndpoint({}, 'Greeter.Open'),
        ],
      },
    ])
    t.ok(upstream.hasPolicies)
    const limit = { name: 'body-limit', onRequest: () => void executed.push('gateway') }
    const executed: string[] = []
    const chain = compileChain(
      [limit],
      (x) => {
        x.route = toRoute('greeter', x.path.slice(1))
        x.upstream = upstream
      },
      () => void executed.push('handled'),
      { routes: new Map(), findPolicies: createPolicyFinder(createTestEnv()) },
    )
    const run = (endpoint: string, remoteAddress: string) => {
      const x = createTestExchange({ path: `/${endpoint}`, remoteAddress })
      x.begin(
        chain,
        () => {},
        () => {},
      )
      void runSteps(chain.steps, x)
      return x
    }
    t.throws(() => run('Greeter.Hello', '192.0.2.1'), { code: 403 })
    t.equal(run('Greeter.Hello', '10.1.1.1').bodyLimit, 100)
    t.equal(run('Greeter.Open', '192.0.2.1').bodyLimit, Number.POSITIVE_INFINITY)
    t.strictSame(executed, ['gateway', 'gateway', 'handled', 'gateway', 'handled'])
  },
)

t.test('policies change neither decisions nor responses of the configuration', async (t) => {
  const env = createTestEnv()
  const changes = {
    request: { set: { 'mx-namespace': 'other' } },
    reply: {
      set: { 'cache-control': 'public', 'x-own': '1' },
      remove: ['x-frame-options'],
      append: { 'set-cookie': 'mx-dashboard=a' },
    },
  }
  const endpoint = toEndpoint({
    'policy.headers': JSON.stringify(changes),
    'policy.body-limit': '{"limit":"10gb"}',
  })
  const upstream = new Upstream('greeter', {
    createPool: () => {
      throw new Error('unused')
    },
  })
  upstream.update([
    { name: 'greeter', version: '1', metadata: {}, nodes: [], endpoints: [endpoint] },
  ])
  const decided: (string | undefined)[] = []
  const protect: Plugin = {
    name: 'protect',
    onRoute: ({ headers }) => void decided.push(headers.get('mx-namespace')),
    onReply: ({ replyHeaders }) => {
      replyHeaders.set('cache-control', 'private')
      replyHeaders.set('x-frame-options', 'DENY')
    },
  }
  const limit = createPlugin(bodyLimit, { limit: '1kb' }, env)
  for (const consumers of [new Map(), new Map([['mx/jane', [protect]]])]) {
    const chain = compileChain(
      [limit, protect, dashboardCookie],
      (x) => {
        x.route = toRoute('greeter', 'Greeter.Hello')
        x.upstream = upstream
      },
      (x) => x.reply(200, ''),
      { routes: new Map(), consumers, findPolicies: createPolicyFinder(env) },
    )
    const x = createTestExchange({ headers: { 'mx-namespace': 'strict' } })
    x.session = { account: JANE, id: '', issuedMs: 0, endsMs: Number.POSITIVE_INFINITY }
    x.begin(
      chain,
      () => {},
      () => {},
    )
    await runSteps(chain.steps, x)
    const { replyHeaders } = x
    t.equal(x.bodyLimit, 1024)
    t.equal(x.headers.get('mx-namespace'), 'other', 'the service receives the header')
    t.equal(decided.pop(), 'strict')
    t.equal(replyHeaders.get('cache-control'), 'private')
    t.equal(replyHeaders.get('x-frame-options'), 'DENY')
    t.equal(replyHeaders.get('set-cookie'), undefined)
    t.equal(replyHeaders.get('x-own'), '1')
  }
})
