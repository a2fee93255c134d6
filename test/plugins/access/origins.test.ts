import t from 'tap'
import type { Plugin } from '../../../core/chain.ts'
import type { Endpoint } from '../../../core/contracts/registry.ts'
import { toRoute } from '../../../core/route.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import plugin from '../../../plugins/access/origins.ts'
import { buildPlugin, runPlugin, type TestHeaders } from '../../../sdk/testing.ts'
import { createTestPool } from '../../fixtures/rpc-proxy.ts'

const APP = 'https://app.example.com'
const origins = buildPlugin(plugin, { allow: [APP, 'https://*.shop.example'] })
const LINK = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

t.test('passes requests of clients that are not browsers', async (t) => {
  for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS'])
    t.ok((await runPlugin(origins, { method })).forwarded, method)
})

t.test('passes pages of the same host and of listed origins', async (t) => {
  const rows: [TestHeaders, string][] = [
    [{ origin: 'https://app.test' }, 'app.test'],
    [{ origin: 'http://app.test' }, 'app.test'],
    [{ origin: 'HTTPS://App.Test' }, 'app.TEST'],
    [{ origin: 'https://app.test' }, 'app.test:443'],
    [{ origin: 'http://app.test:8080' }, 'app.test:8080'],
    [{ origin: 'http://[::1]:8080' }, '[::1]:8080'],
    [{ origin: APP }, 'app.test'],
    [{ origin: 'https://APP.example.com', 'sec-fetch-site': 'same-site' }, 'app.test'],
    [{ origin: 'https://a.shop.example', 'sec-fetch-site': 'cross-site' }, 'app.test'],
    [{ 'sec-fetch-site': 'same-origin' }, 'app.test'],
    [{ 'sec-fetch-site': 'none' }, 'app.test'],
    // Requests behind a proxy that changed Host, and from a form of a page with Referrer-Policy: no-referrer.
    [{ origin: 'https://public.test', 'sec-fetch-site': 'same-origin' }, '10.0.0.7:8080'],
    [{ origin: 'null', 'sec-fetch-site': 'same-origin' }, 'app.test'],
  ]
  for (const [headers, host] of rows)
    for (const upgrade of [false, true])
      for (const method of ['GET', 'POST'])
        t.ok(
          (await runPlugin(origins, { method, headers, host, upgrade })).forwarded,
          JSON.stringify(headers),
        )
})

t.test('denies requests from pages of other origins', async (t) => {
  const rows: [string | string[], string][] = [
    ['https://evil.test', 'app.test'],
    ['https://app.test:8443', 'app.test'],
    ['https://app.test', 'app.test:80'],
    ['http://localhost:3000', 'localhost:8080'],
    ['http://localhost:8080', '127.0.0.1:8080'],
    ['https://app.test.evil.test', 'app.test'],
    ['https://evil.test/app.test', 'app.test'],
    ['https://app.test@evil.test', 'app.test'],
    ['file://app.test', 'app.test'],
    ['null', 'app.test'],
    ['', 'app.test'],
    [['https://app.test', 'https://app.test'], 'app.test'],
  ]
  for (const [origin, host] of rows)
    for (const upgrade of [false, true])
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const headers = { origin, 'sec-fetch-site': 'none' }
        const { status, body } = await runPlugin(origins, { method, headers, host, upgrade })
        t.equal(status, 403, `${origin}`)
        const [shown] = [origin].flat()
        t.strictSame(JSON.parse(body), {
          Id: 'go.mx.api',
          Code: 403,
          Detail: `web origin ${JSON.stringify(shown)} is not allowed; add it to --web_origins`,
          Status: 'Forbidden',
        })
      }
})

t.test('denies images, scripts, frames and prefetches of other sites', async (t) => {
  for (const site of ['cross-site', 'same-site', 'nonsense'])
    for (const [mode, dest] of [
      ['no-cors', 'image'],
      ['no-cors', 'script'],
      ['navigate', 'iframe'],
      ['navigate', 'object'],
      ['websocket', 'websocket'],
      ['cors', 'empty'],
      ['', ''],
    ] as const) {
      const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest }
      const { status, body, forwarded } = await runPlugin(origins, { headers })
      t.equal(status, 403, `${site} ${mode} ${dest}`)
      t.match(JSON.parse(body), { Detail: /^cross-site requests .* --web_origins=any/ })
      t.notOk(forwarded)
    }
  const posted = { method: 'POST', headers: { ...LINK, 'sec-fetch-site': 'cross-site' } }
  t.equal((await runPlugin(origins, posted)).status, 403, 'a form is not a link')
})

t.test('allows links from other sites to pages but not to endpoints', async (t) => {
  const toUpstream = (metadata: Record<string, string>, endpoints: Endpoint[] = []): Plugin => {
    const upstream = new Upstream('test', { createPool: createTestPool })
    upstream.update([{ name: 'test', version: 'latest', metadata, endpoints, nodes: [] }])
    return {
      name: 'test-upstream',
      onRequest(x) {
        x.upstream = upstream
      },
    }
  }
  const toEndpoint = (method: string): Endpoint => ({
    name: 'Test.Call',
    request: { name: '', type: '', values: [] },
    response: { name: '', type: '', values: [] },
    metadata: { method },
  })
  const call = toRoute('test', 'Test.Call')
  const rows: [Plugin[], ReturnType<typeof toRoute>, number][] = [
    [[], toRoute('test', ''), 200],
    [[], toRoute('test', 'Test.Call', 'proxy'), 200],
    [[], toRoute('test', 'Test.Call', 'web'), 200],
    [[toUpstream({ handler: 'http' })], call, 200],
    [[toUpstream({}, [toEndpoint('GET')])], call, 200],
    [[toUpstream({}, [toEndpoint('get, HEAD')])], call, 200],
    [[], call, 403],
    [[], toRoute('test', 'Test.Call', 'api'), 403],
    [[], toRoute('go.mx.api.orders', 'created', 'event'), 403],
    [[toUpstream({ handler: 'rpc' })], call, 403],
    [[toUpstream({}, [toEndpoint('')])], call, 403],
    [[toUpstream({}, [toEndpoint('GET,POST')])], call, 403],
  ]
  for (const [before, route, status] of rows) {
    const send = (site: string) =>
      runPlugin([...before, origins], { headers: { ...LINK, 'sec-fetch-site': site } }, { route })
    const reply = await send('cross-site')
    t.equal(reply.status, status, JSON.stringify(route))
    if (status === 403)
      t.match(JSON.parse(reply.body), { Detail: /^links from other sites may not call endpoints/ })
    for (const site of ['same-site', 'none']) t.equal((await send(site)).status, 200, site)
  }
})

t.test('rejects an entry that is not an origin', async (t) => {
  for (const entry of ['app.test', 'https://app.test/', '*', 'null', ''])
    t.throws(() => buildPlugin(plugin, { allow: [entry] }), /origins must be like https/, entry)
})
