import t from 'tap'
import { mergePolicies } from '../../../../core/upstream/policies/merge-policies.ts'
import { parseConfig } from '../../../../platform/config/parse-file.ts'
import { describePolicies } from '../../../../platform/config/policies/describe-policies.ts'

t.test('policies of a service precede policies of the gateway, for each value', async (t) => {
  const { policies, services } = parseConfig(
    `
outlier: { consecutive_5xx: 7, scope: node }
panic_threshold: 20
services:
  shop: { nodes: [10.0.0.1:80], slow_start: 30s, outlier: { consecutive_5xx: 9, interval: 5s } }
  plain: 10.0.0.2:80
  off: { nodes: [10.0.0.3:80], outlier: off }
`,
    'mx.yaml',
  )
  const [shop, plain, off] = services.map((service) =>
    mergePolicies('a', policies, service.policies),
  )
  t.match(shop, { zone: 'a', panicThreshold: 20, slowStartMs: 30_000, subset: 0 })
  t.match(shop!.outlier, { consecutive5xx: 9, scope: 'node', intervalMs: 5000, latencyFactor: 4 })
  t.match(plain, { slowStartMs: 0, panicThreshold: 20, outlier: { consecutive5xx: 7 } })
  t.match(off!.outlier, { consecutive5xx: 0, consecutiveGatewayErrors: 0, latencyFactor: 0 })
})

t.test('health is a path, a map or off, and inherits values of the gateway', async (t) => {
  const { policies, services } = parseConfig(
    `
health: { path: /ready, interval: 5s, expect: "200,300-301" }
services:
  path: { nodes: [10.0.0.1:80], health: /healthz?a=1 }
  off: { nodes: [10.0.0.1:80], health: off }
  grpc: { nodes: ["grpc://10.0.0.1:80"], health: { type: grpc } }
`,
    'mx.yaml',
  )
  const [path, off, grpc] = services.map(
    (service) => mergePolicies('', policies, service.policies).health,
  )
  t.match(path, { path: '/healthz?a=1', type: 'http', intervalMs: 5000, fails: 3 })
  t.strictSame(path!.expect, [
    [200, 200],
    [300, 301],
  ])
  t.equal(off, undefined)
  t.match(grpc, { type: 'grpc', path: '', intervalMs: 5000 })
  t.equal(mergePolicies('').health, undefined)
})

t.test('retry and breaker inherit values of the gateway, and are disabled by off', async (t) => {
  const { policies, services, routes } = parseConfig(
    `
retry: { on: [connect, 503], backoff: { max: 1s }, budget: 10% }
breaker: {}
services:
  own: { nodes: [10.0.0.1:80], retry: { attempts: 3, backoff: { base: 5ms } }, breaker: { open: 1s } }
  off: { nodes: [10.0.0.1:80], retry: off, breaker: off }
routes: [{ service: own, retry: { methods: idempotent } }, { service: own, retry: off }]
`,
    'mx.yaml',
  )
  const [own, off] = services.map((service) => mergePolicies('', policies, service.policies))
  t.match(own!.retry, { attempts: 3, backoffBaseMs: 5, backoffMaxMs: 1000, budgetPercent: 10 })
  t.strictSame([...own!.retry.on], ['connect', 503])
  t.match(own!.breaker, { openMs: 1000, errorPercent: 50, minRequests: 20 })
  t.strictSame([off!.retry.attempts, off!.retry.on.size], [1, 0])
  t.equal(off!.breaker, undefined)
  t.match(mergePolicies('', policies).breaker, { openMs: 5000 })
  t.strictSame(
    routes.map(({ policies }) => policies?.retry?.methods ?? policies?.retry?.attempts),
    ['idempotent', 1],
  )
})

t.test('invalid policies are reported with line, key and allowed values', async (t) => {
  for (const [text, message] of [
    ['panic_threshold: 101', 'mx.yaml:1:18: panic_threshold of the gateway must be a whole number'],
    ['slow_start: 30', 'mx.yaml:1:13: slow_start of the gateway'],
    ['outlier: on', 'mx.yaml:1:10: outlier of the gateway must be a map or off, got "on"'],
    ['outlier: { consecutive_5x: 1 }', 'did you mean "consecutive_5xx"?'],
    [
      'health: yes',
      'health of the gateway must be a path such as /healthz, a map or off, got "yes"',
    ],
    [
      'retry: { on: [reset, 200] }',
      'on of retry of the gateway must be connect, reset, or statuses',
    ],
    [
      'retry: { budget: 120% }',
      'budget of retry of the gateway must be a percentage from 0% to 100%',
    ],
    ['retry: { backoff: { min: 1s } }', 'unknown key "min" of backoff of retry of the gateway'],
    ['retry: { attempts: 0 }', 'attempts of retry of the gateway must be a whole number from 1 to'],
    ['breaker: { error_rate: half }', 'error_rate of breaker of the gateway must be a percentage'],
    ['health: { path: healthz }', 'path of health of the gateway must begin with /'],
    ['health: { type: tcp, path: /a }', 'path of health of the gateway has no effect for type tcp'],
    ['health: { expect: 600 }', 'expect of health of the gateway must be statuses such as'],
    ['outlier: { scope: path }', 'scope of outlier of the gateway must be one of route, node'],
    ['services: { a: { nodes: [b:1], subset: x } }', 'mx.yaml:1:40: subset of service "a" must be'],
  ] as const)
    t.throws(() => parseConfig(text, 'mx.yaml'), new RegExp(message.replace(/[.?]/g, '\\$&')), text)
})

t.test(
  'describes configured policies by their keys, and groups that use the defaults',
  async (t) => {
    t.strictSame(describePolicies({ breaker: {}, health: 'off', hedge: { max: 2 }, subset: 3 }), [
      ['hedge.max', '2'],
      ['breaker', 'with defaults'],
      ['health', 'off'],
      ['subset', '3'],
    ])
  },
)
