import t from 'tap'
import { openConfiguredGateway } from '../fixtures/configured-gateway.ts'
import { openEcho } from '../fixtures/echo-backend.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import { listenHttp } from '../fixtures/listen.ts'

for (const listener of Object.keys(LISTENERS)) {
  t.test(`${listener}: routes forward, rewrite, redirect and respond`, async (t) => {
    const [shop, blog] = [await openEcho(t, 'shop'), await openEcho(t, 'blog')]
    const { send, reload } = await openConfiguredGateway(
      t,
      `
services:
  shop:
    nodes: [http://127.0.0.1:${shop}]
    plugins: [ headers: { reply: { set: { x-scope: service } } } ]
  blog: http://127.0.0.1:${blog}
routes:
  - name: shop-api
    match: { host: shop.test, path: /api/**, method: [GET], headers: { x-beta: "1" } }
    service: shop
    strip_prefix: /api
    plugins: [ headers: { reply: { set: { x-scope: route } } } ]
  - match: { path: "/old/{id}/**", query: { v: { prefix: "2" } } }
    service: shop
    rewrite: { path: "/v2/{id}/{rest}", query: { lang: en } }
  - match: { path: "/own/**" }
    service: shop
    rewrite: { path: "/tenants/{header.x-tenant}/{rest}" }
  - match: { path: "/go/**" }
    redirect: { host: "{header.x-tenant}.shop.test", path: "/{rest}" }
  - match: { path: /, host: blog.test }
    service: blog
  - match: { host: old.test }
    redirect: { scheme: https, host: shop.test }
  - match: { path: /here }
    redirect: { host: "www.{host}", path: /there, status: 302 }
  - match: { path: /healthz }
    respond: { status: 200, body: ok, headers: { cache-control: no-store } }
`,
      { listener },
    )
    const api = await send('GET', '/api/a%20b/c?d=1', { host: 'shop.test', 'x-beta': '1' })
    t.equal(api.text, 'shop GET /a%20b/c?d=1 shop.test')
    t.match(api.headers, {
      'x-scope': 'route',
      location: '/api/login',
      'set-cookie': ['a=1; Path=/api'],
    })
    t.equal((await send('GET', '/api/a', { host: 'shop.test' })).status, 404, 'without the header')
    const denied = await send('POST', '/api/a', { host: 'shop.test', 'x-beta': '1' })
    t.equal(denied.status, 404, 'the resolver names an unknown service')
    const rewritten = await send('GET', '/old/7/x/y?v=2.1')
    t.equal(rewritten.text, `shop GET /v2/7/x/y?v=2.1&lang=en ${rewritten.text.split(' ').at(-1)}`)
    t.equal(rewritten.headers['x-scope'], 'service')
    t.equal((await send('GET', '/', { host: 'blog.test' })).text, 'blog GET / blog.test')
    const own = await send('GET', '/own/x', { 'x-tenant': 'ann?' })
    t.match(own.text, /^shop GET \/tenants\/ann%3F\/x /)
    for (const tenant of ['..', '../admin', 'a/../../admin', 'bob/x', '']) {
      const headers = { 'x-tenant': tenant }
      t.equal((await send('GET', '/own/x', headers)).status, 400, `path with ${tenant}`)
      t.equal((await send('GET', '/go/x', headers)).status, 400, `host with ${tenant}`)
    }
    const moved = await send('GET', '/q?e=1', { host: 'old.test:8080' })
    t.match(moved, { status: 308, headers: { location: 'https://shop.test/q?e=1' } })
    const sameHost = await send('GET', '/here', { host: 'shop.test:8080' })
    t.match(sameHost, { status: 302, headers: { location: 'http://www.shop.test:8080/there' } })
    t.match(await send('GET', '/healthz'), {
      ...{ status: 200, text: 'ok' },
      headers: { 'cache-control': 'no-store' },
    })
    t.match(await send('GET', '/shop/z'), {
      text: /^shop GET \/shop\/z/,
      headers: { 'x-scope': 'service' },
    })
    t.equal((await send('GET', '/blog/z')).headers['x-scope'], undefined)

    await reload(`
services: { blog: "http://127.0.0.1:${blog}" }
routes:
  - match: { path: /healthz }
    service: blog
`)
    t.match(await send('GET', '/healthz'), { text: /^blog GET \/healthz/ })
    t.equal((await send('GET', '/q', { host: 'old.test' })).status, 404)
  })
}

t.test('paths of responses are changed back if the path of the request was changed', async (t) => {
  const port = await openEcho(t, 'shop')
  const { send } = await openConfiguredGateway(
    t,
    `
services: { shop: "http://127.0.0.1:${port}" }
routes:
  - { match: { path: /api/** }, service: shop, strip_prefix: /api, rewrite: { path: "/{rest}", query: { a: "1" } } }
  - { match: { path: [/new/**, /legacy/**] }, service: shop, strip_prefix: /new }
  - { match: { path: "/users/{id}/**" }, service: shop, rewrite: { path: "/{id}/{rest}" } }
`,
  )
  const rows: [path: string, received: string, location: string, cookiePath: string][] = [
    ['/api/x', '/x?a=1', '/api/login', '/api'],
    ['/new/x', '/x', '/new/login', '/new'],
    ['/legacy/x', '/legacy/x', '/login', '/'],
    ['/users/1/x', '/1/x', '/login', '/'],
  ]
  for (const [path, received, location, cookiePath] of rows) {
    const { text, headers } = await send('GET', path)
    t.equal(text.split(' ')[2], received)
    t.match(headers, { location, 'set-cookie': [`a=1; Path=${cookiePath}`] }, path)
  }
})

t.test('an invalid route keeps the previous routes on reload', async (t) => {
  const { send, reload } = await openConfiguredGateway(
    t,
    'routes: [{ match: { path: /a }, respond: { body: one } }]',
  )
  await t.rejects(reload('routes: [{ match: { path: /a }, redirect: { path: "/{x}" } }]'), {
    message: /mx\.yaml:1:10: route 1: unknown placeholder \{x\}/,
  })
  t.equal((await send('GET', '/a')).text, 'one')
})

t.test('timeouts of a service override timeouts of the gateway, even after a reload', async (t) => {
  const port = await listenHttp(t, () => {})
  const toText = (response: string): string =>
    `services: { slow: { nodes: ["http://127.0.0.1:${port}"], timeout: { response: ${response} } } }`
  const { send, reload } = await openConfiguredGateway(t, toText('1h'))
  await reload(toText('100ms'))
  const reply = await send('GET', '/slow/a')
  t.equal(reply.status, 504)
  t.match(JSON.parse(reply.text), {
    Id: 'go.mx.api.slow',
    Detail: 'the backend did not respond in time',
  })
})
