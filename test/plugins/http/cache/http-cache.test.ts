import t from 'tap'
import {
  getCached,
  openCachedBackend,
  openCachingGateway,
  toNumbered,
} from '../../../fixtures/caching-gateway.ts'
import { openConfiguredGateway } from '../../../fixtures/configured-gateway.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

for (const listener of ['uws', 'node']) {
  t.test(`${listener}: stores a streamed response and sends ranges of it`, async (t) => {
    const backend = await openCachedBackend(t, (_request, response) => {
      response.writeHead(200, { 'cache-control': 'max-age=60', etag: '"a"' })
      response.write('01234')
      setImmediate(() => response.end('56789'))
    })
    const gateway = await openCachingGateway(t, backend, '', listener)
    t.equal((await getCached(gateway)).text, '0123456789')
    const { status, text, headers } = await getCached(gateway, '/', { range: 'bytes=4-5' })
    t.strictSame([status, text, headers['content-range']], [206, '45', 'bytes 4-5/10'])
    const head = await gateway.send('HEAD', '/')
    t.strictSame([head.status, head.headers['content-length']], [200, '10'])
    const unchanged = await getCached(gateway, '/', { 'if-none-match': '"a"' })
    t.strictSame([unchanged.status, unchanged.text], [304, ''])
    t.equal(backend.received.length, 1)
  })
}

t.test('requests for an uncacheable response wait only once', async (t) => {
  const pending: (() => void)[] = []
  const backend = await openCachedBackend(t, (_request, response, count) => {
    pending.push(() => response.end(String(count)))
  })
  const gateway = await openCachingGateway(t, backend, 'collapse_timeout: 60s')
  const first = Array.from({ length: 3 }, () => getCached(gateway))
  await waitUntil(() => gateway.gateway.inFlight === 3 && pending.length === 1)
  pending[0]!()
  await waitUntil(() => pending.length === 3)
  for (const finish of pending.slice(1)) finish()
  await Promise.all(first)
  const second = Array.from({ length: 3 }, () => getCached(gateway))
  await waitUntil(() => pending.length === 6)
  for (const finish of pending.slice(3)) finish()
  t.equal((await Promise.all(second)).length, 3)
})

t.test('requests stop waiting after collapse_timeout', async (t) => {
  const pending: (() => void)[] = []
  const backend = await openCachedBackend(t, (_request, response, count) => {
    pending.push(() => response.end(String(count)))
  })
  const gateway = await openCachingGateway(t, backend, 'collapse_timeout: 20ms')
  const replies = [getCached(gateway), getCached(gateway)]
  await waitUntil(() => pending.length === 2)
  for (const finish of pending) finish()
  t.equal((await Promise.all(replies)).length, 2)
})

t.test('another request takes over if the first client disconnects', async (t) => {
  const pending: (() => void)[] = []
  const backend = await openCachedBackend(t, (_request, response, count) => {
    pending.push(() => {
      response.writeHead(200, { 'cache-control': 'max-age=60' })
      response.end(String(count))
    })
  })
  const gateway = await openCachingGateway(t, backend, 'collapse_timeout: 60s')
  const aborted = new AbortController()
  const url = `http://127.0.0.1:${gateway.port}/`
  const first = fetch(url, { signal: aborted.signal }).catch(() => 'aborted')
  await waitUntil(() => pending.length === 1)
  const others = Array.from({ length: 5 }, () => getCached(gateway))
  await waitUntil(() => gateway.gateway.inFlight === 6)
  aborted.abort()
  t.equal(await first, 'aborted')
  await waitUntil(() => pending.length === 2)
  pending[1]!()
  for (const { text } of await Promise.all(others)) t.equal(text, '2')
  t.equal(backend.received.length, 2)
})

t.test('stale-while-revalidate sends the stale response and refreshes it', async (t) => {
  const backend = await openCachedBackend(
    t,
    toNumbered('max-age=10, stale-while-revalidate=60', { age: '20', etag: '"a"' }),
  )
  const gateway = await openCachingGateway(t, backend)
  t.equal((await getCached(gateway)).text, '1')
  let condition: unknown
  backend.respond = (request, response) => {
    condition = request.headers['if-none-match']
    response.writeHead(200, { 'cache-control': 'max-age=60' })
    response.end('new')
  }
  t.equal((await getCached(gateway, '/', { 'x-test': '1' })).text, '1', 'stale')
  await waitUntil(() => backend.received.length === 2)
  t.equal(condition, '"a"')
  let { text } = await getCached(gateway)
  while (text !== 'new') ({ text } = await getCached(gateway))
  t.equal((await getCached(gateway)).text, 'new')
  t.equal(backend.received.length, 2)
  await waitUntil(() => gateway.gateway.inFlight === 0)
})

t.test('a stale response replaces errors of the gateway and of the backend', async (t) => {
  const backend = await openCachedBackend(
    t,
    toNumbered('max-age=10, stale-if-error=60', { age: '20' }),
  )
  const gateway = await openCachingGateway(t, backend)
  t.equal((await getCached(gateway)).text, '1')
  backend.respond = (_request, response) => {
    response.writeHead(503)
    // Streamed, so that the gateway cancels it.
    response.write('part of an error')
  }
  const replaced = await getCached(gateway)
  t.strictSame([replaced.status, replaced.text], [200, '1'])
  backend.respond = (request) => request.socket.destroy()
  const cut = await getCached(gateway)
  t.strictSame([cut.status, cut.text], [200, '1'])
  backend.close()
  const refused = await getCached(gateway)
  t.strictSame([refused.status, refused.text], [200, '1'])
  t.match(refused.headers['cache-status'], /fwd=stale; fwd-status=50\d; detail=stale-if-error/)
})

t.test('does not store an incomplete response', async (t) => {
  const backend = await openCachedBackend(t, (request, response, count) => {
    response.writeHead(200, { 'cache-control': 'max-age=60', 'content-length': 10 })
    if (count > 1) response.end('0123456789')
    else response.write('01234', () => request.socket.destroy())
  })
  const gateway = await openCachingGateway(t, backend)
  await t.rejects(getCached(gateway))
  t.equal((await getCached(gateway)).text, '0123456789')
})

t.test('compress applies to stored responses', async (t) => {
  const body = 'text '.repeat(1000)
  const backend = await openCachedBackend(t, (_request, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=60', 'content-type': 'text/plain' })
    response.end(body)
  })
  for (const plugins of ['compress, cache', 'cache, compress']) {
    const gateway = await openConfiguredGateway(
      t,
      `services: { shop: { nodes: ['127.0.0.1:${backend.port}'] } }
routes: [{ match: { path: '/**' }, service: shop }]
plugins: [${plugins}]
`,
    )
    const before = backend.received.length
    const zipped = await getCached(gateway, '/', { 'accept-encoding': 'gzip' })
    t.equal(zipped.headers['content-encoding'], 'gzip')
    const again = await getCached(gateway, '/', { 'accept-encoding': 'gzip' })
    t.equal(again.headers['content-encoding'], 'gzip')
    t.equal((await getCached(gateway)).text, body)
    t.equal(backend.received.length, before + 1, plugins)
  }
})

t.test('hosts, services, namespaces and routes do not share responses', async (t) => {
  const one = await openCachedBackend(t, toNumbered('max-age=60'))
  const two = await openCachedBackend(t, (_request, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=60' })
    response.end('two')
  })
  const gateway = await openConfiguredGateway(
    t,
    `services:
  one: { nodes: ['127.0.0.1:${one.port}'] }
  two: { nodes: ['127.0.0.1:${two.port}'] }
routes:
  - { match: { path: '/**', headers: { x-route: a } }, service: two }
  - { match: { path: '/**' }, service: one }
plugins: [cache]
`,
  )
  t.equal((await getCached(gateway, '/', { host: 'a.example' })).text, '1')
  t.equal((await getCached(gateway, '/', { host: 'b.example' })).text, '2')
  t.equal((await getCached(gateway, '/', { host: 'A.example' })).text, '1')
  t.equal((await getCached(gateway, '/', { host: 'a.example', 'x-route': 'a' })).text, 'two')
  t.equal((await getCached(gateway, '/?q=1', { host: 'a.example' })).text, '3')
  t.equal((await getCached(gateway, '/', { host: 'a.example' })).text, '1')
})

t.test('a reload keeps stored responses unless the options change', async (t) => {
  const backend = await openCachedBackend(t, toNumbered('max-age=60'))
  const gateway = await openCachingGateway(t, backend)
  t.equal((await getCached(gateway)).text, '1')
  const text = (options: string) =>
    `services: { shop: { nodes: ['127.0.0.1:${backend.port}'], plugins: [cache: { ${options} }] } }
routes: [{ match: { path: '/**' }, service: shop }]
`
  await gateway.reload(`# changed\n${text('')}`)
  t.equal((await getCached(gateway)).text, '1')
  await gateway.reload(text('max_object: 2kb'))
  t.equal((await getCached(gateway)).text, '2')
})
