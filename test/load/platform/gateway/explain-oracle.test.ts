// Random configurations and requests: the gateway does what `explain` predicts.
import fc from 'fast-check'
import t from 'tap'
import { createDisposer } from '../../../../lib/async/disposer.ts'
import {
  type ExplainedRequest,
  openExplainer,
} from '../../../../platform/gateway/routing/explain.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { openConfiguredGateway } from '../../../fixtures/configured-gateway.ts'
import { openEcho } from '../../../fixtures/echo-backend.ts'
import { toRuns } from '../../../fixtures/property-runs.ts'

const REQUESTS = 200
/** `MX_PROPERTY_RUNS=10` compares 100 000 requests, in about five minutes. */
const CONFIGURATIONS = toRuns(50)

const path = fc.constantFrom(
  '/',
  '/a',
  '/a/b',
  '/a/**',
  '/b/**',
  '/a/{id}',
  '/{x}/b/**',
  '/**',
  '/a/*',
)
const host = fc.constantFrom('a.test', '*.a.test', 'b.test')
const value = fc.constantFrom('1', '2')
const match = fc.record(
  {
    path,
    host,
    method: fc.constantFrom('GET', 'POST', ['PUT', 'DELETE']),
    headers: fc.record({ 'x-h': fc.oneof(value, fc.constant({ present: true })) }),
    query: fc.record({ q: fc.oneof(value, fc.constant({ prefix: '1' })) }),
    client: fc.constantFrom('loopback', '10.0.0.0/8'),
  },
  { requiredKeys: [] },
)
const plugins = fc.uniqueArray(
  fc.constantFrom(
    { 'body-limit': { limit: 3 } },
    { 'body-limit': { limit: 100 } },
    { 'ip-allow': { allow: ['loopback'] } },
    { 'ip-allow': { allow: ['10.0.0.0/8'] } },
    { 'redirect-https': {} },
    { headers: { request: { set: { 'x-h': '2' } } } },
  ),
  { maxLength: 2, selector: (plugin) => Object.keys(plugin)[0] },
)
const toService = fc
  .record(
    {
      service: fc.constantFrom('one', 'one', 'two', 'two', 'down', 'missing'),
      strip_prefix: fc.constantFrom('/a', '/a/b'),
      add_prefix: fc.constantFrom('/new', '/a'),
      rewrite: fc.constantFrom({ path: '/r{path}' }, { query: { q: '2', h: '{header.x-h}' } }),
      plugins,
    },
    { requiredKeys: ['service'] },
  )
  .map(({ rewrite, ...route }) =>
    rewrite === undefined || 'strip_prefix' in route || 'add_prefix' in route
      ? route
      : { ...route, rewrite },
  )
const action = fc.oneof(
  { weight: 4, arbitrary: toService },
  {
    weight: 1,
    arbitrary: fc.record({
      redirect: fc.constantFrom({ scheme: 'https' }, { path: '/new{path}', status: 302 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ respond: fc.constantFrom({ body: 'ok' }, { status: 418, body: 'no' }) }),
  },
)
const routes = fc.array(
  fc.tuple(match, action).map(([match, action]) => ({ match, ...action })),
  { maxLength: 10 },
)
const request: fc.Arbitrary<ExplainedRequest> = fc
  .record({
    method: fc.constantFrom('GET', 'GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'),
    segments: fc.array(fc.constantFrom('a', 'a', 'b', '%61', 'one', 'two', 'down', 'c', ''), {
      maxLength: 4,
    }),
    query: fc.constantFrom('', '?q=1', '?q=12', '?q=2&q=1', '?x=%20'),
    host: fc.constantFrom('a.test', 'x.a.test', 'b.test:81', 'c.test'),
    header: fc.option(value),
    body: fc.constantFrom('', '', 'ok', 'too long'),
  })
  .map(({ method, segments, query, host, header, body }) => ({
    ...{ method, path: `/${segments.join('/')}${query}` },
    headers: { host, ...(header !== null && { 'x-h': header }) },
    body: /^P/.test(method) ? body : '',
  }))

t.test(
  'every request meets the response, service, node and target that explain predicts',
  async (t) => {
    const ports = new Map<number, string>()
    for (const name of ['one', 'other', 'two']) ports.set(await openEcho(t, name), name)
    const [one, other, two] = [...ports.keys()]
    const configurations = fc.sample(
      fc.record({ services: fc.tuple(plugins, plugins), plugins, routes }),
      CONFIGURATIONS,
    )
    const requests = fc.sample(request, CONFIGURATIONS * REQUESTS)
    const log = createLog('silent')
    let sent = 0
    let forwarded = 0
    for (const { services, plugins, routes } of configurations) {
      const text = JSON.stringify({
        plugins: ['namespace', ...plugins],
        services: {
          one: { nodes: [`127.0.0.1:${one}`, `127.0.0.1:${other}`], plugins: services[0] },
          two: { nodes: [`127.0.0.1:${two}`], plugins: services[1] },
          down: { nodes: ['127.0.0.1:1'] },
        },
        routes,
      })
      const closing = createDisposer()
      const gateway = await openConfiguredGateway({ teardown: closing.add }, text)
      const parts = { configuration: gateway.configuration, authorizer: undefined, log }
      const explain = await openExplainer(parts, closing)
      for (const each of requests.slice(sent, sent + REQUESTS)) {
        sent++
        const predicted = await explain(each)
        const { method, path, headers, body } = each
        const actual = await gateway.send(method, path, headers as Record<string, string>, body)
        const echo = actual.headers['x-echo']
        const difference = (): string | undefined => {
          if (predicted.sentTo === undefined) {
            const { status, error, body } = predicted.answer!
            if (echo !== undefined) return 'forwarded, not answered'
            if (actual.status !== status) return `status ${status}`
            if (method === 'HEAD') return undefined
            if (error === undefined) return actual.text === body ? undefined : `body ${body}`
            return JSON.parse(actual.text).Detail === error.message ? undefined : error.message
          }
          forwarded++
          const { route, nodes, target } = predicted
          if (route!.service.endsWith('.down')) return actual.status === 502 ? undefined : '502'
          const names = nodes!.map(({ address }) => ports.get(Number(address.split(':')[1])))
          const expected = names.map(
            (name) => `${name} ${method} ${target} ${each.headers['host']}`,
          )
          return expected.includes(String(echo)) ? undefined : expected.join(' or ')
        }
        const found = difference()
        if (found !== undefined)
          t.fail(`${method} ${path}: expected ${found}`, {
            ...{ text, request: each, status: actual.status, body: actual.text, echo },
          })
      }
      await closing.close()
    }
    t.equal(sent, CONFIGURATIONS * REQUESTS)
    t.ok(forwarded > sent / 10, `${forwarded} of ${sent} requests were forwarded`)
  },
)
