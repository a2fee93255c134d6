import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { toService } from '../../../adapters/registry/static.ts'
import { fetchPage } from '../../../core/upstream/fetch-page.ts'
import { Pool } from '../../../core/upstream/pool/pool.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'

async function open(t: Test, serve: RequestListener, others: readonly string[] = []) {
  const server = createServer(serve)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const upstream = new Upstream('pages', {
    createPool: (address) =>
      new Pool({
        ...{ timeouts: { connectMs: 5000, replyMs: 10_000, idleMs: 10_000 }, keepAliveMs: 10_000 },
        ...{ maxConnections: 10, maxWaiting: 10, ...address },
      }),
  })
  const { port } = server.address() as AddressInfo
  upstream.update([toService('pages', [...others, `http://127.0.0.1:${port}`], '')])
  t.teardown(() => {
    upstream.close()
    server.closeAllConnections()
    server.close()
  })
  return (options = {}) =>
    fetchPage(upstream, {
      ...{ target: '/502', host: 'shop.test', timeoutMs: 5000, maxBytes: 200_000 },
      ...options,
    })
}

t.test('fetches a page, short or streamed, from a node that is reachable', async (t) => {
  const text = 'x'.repeat(150_000)
  const get = await open(
    t,
    (request, reply) => {
      reply.setHeader('content-type', 'text/html')
      if (request.url === '/long') reply.end(text)
      else reply.end(`${request.method} ${request.url} ${request.headers.host}`)
    },
    ['http://127.0.0.1:1'],
  )
  for (const _ of [1, 2, 3]) {
    const { status, headers, body } = await get()
    t.strictSame([status, headers.get('content-type')], [200, 'text/html'])
    t.equal(body.toString(), 'GET /502 shop.test')
  }
  const long = await get({ target: '/long' })
  t.ok(long.body.toString() === text)
})

t.test('fails for a slow node, a long page and without nodes', async (t) => {
  const get = await open(t, (request, reply) => {
    if (request.url !== '/slow') reply.end('x'.repeat(100_000))
  })
  await t.rejects(get({ target: '/slow', timeoutMs: 50 }), { message: 'no response within 50 ms' })
  await t.rejects(get({ maxBytes: 99_999 }), { message: 'the page exceeds 99999 bytes' })
  await t.resolves(get({ maxBytes: 100_000 }), 'the node serves further requests')
  const none = new Upstream('none', { createPool: () => t.fail() as never })
  const request = { target: '/', host: 'a', timeoutMs: 1000, maxBytes: 1 }
  await t.rejects(fetchPage(none, request), { message: 'no node of none is available' })
})
