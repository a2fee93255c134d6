import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { ApiRequest } from '../../core/api/messages.ts'
import { plugins } from '../../plugins/index.gen.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { buildPlugin } from '../../sdk/testing.ts'
import { openConfiguredGateway } from '../fixtures/configured-gateway.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import { createGreeter } from '../fixtures/greeter.ts'
import { openMxService } from '../fixtures/mx-service.ts'
import { RawClient } from '../fixtures/raw-client.ts'
import { openRpcGateway } from '../fixtures/rpc-gateway.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Responds by the last segment of the path, and records requests. */
async function openBackend(t: Test): Promise<{ port: number; received: Received[] }> {
  const received: Received[] = []
  const replies: Record<string, (reply: ServerResponse) => void> = {
    whole: (reply) =>
      reply.setHeader('content-length', 34).end('{"secret":1,"id":9007199254740993}'),
    chunked: (reply) => {
      reply.write('{"secret":[1,')
      setImmediate(() => reply.end('2],"id":1.0}'))
    },
    long: (reply) => reply.end(`{"secret":"${'x'.repeat(70_000)}"}`),
    'long-chunked': (reply) => {
      reply.write('{"secret":"')
      setImmediate(() => reply.end(`${'x'.repeat(70_000)}"}`))
    },
    text: (reply) => reply.setHeader('content-type', 'text/plain').end('{"secret":1}'),
    invalid: (reply) => reply.end('{"secret":NaN}'),
    coded: (reply) => reply.setHeader('content-encoding', 'br').end('{"secret":1}'),
    none: (reply) => reply.writeHead(204).end(),
    same: (reply) => reply.removeHeader('content-type') ?? reply.writeHead(304).end(),
    lost: (reply) => {
      reply.setHeader('content-length', 100)
      reply.write('{"secret":1,')
      setTimeout(() => reply.destroy(), 20)
    },
    events: (reply) => {
      reply.setHeader('content-type', 'text/event-stream')
      reply.write('data: {"secret":1}\n\n')
    },
  }
  const server = createServer(async (request, reply) => {
    const chunks = await request.toArray()
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
    reply.setHeader('content-type', 'application/json')
    reply.setHeader('etag', '"1"')
    replies[request.url!.split('/').at(-1)!]!(reply)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, received }
}

for (const listener of Object.keys(LISTENERS)) {
  t.test(`${listener}: JSON bodies of proxied requests and responses are changed`, async (t) => {
    const { port, received } = await openBackend(t)
    const gateway = await openConfiguredGateway(
      t,
      `
services:
  shop:
    nodes: [http://127.0.0.1:${port}]
    plugins:
      - json:
          request: { remove: [debug], set: { user.source: gateway } }
          reply: { remove: [secret] }
  plain: http://127.0.0.1:${port}
routes:
  - match: { path: /fixed }
    respond: { body: '{"a":1}', headers: { content-type: application/json } }
    plugins: [ json: { reply: { rename: { a: b } } } ]
`,
      { listener },
    )
    const { send } = gateway
    const complete = await send('GET', '/shop/whole', {
      'accept-encoding': 'gzip',
      range: 'bytes=0-9',
    })
    t.equal(complete.text, '{"id":9007199254740993}')
    t.match(complete.headers, { 'content-length': '23', etag: 'W/"1"' })
    t.equal(received.at(-1)!.headers['accept-encoding'], 'identity')
    t.equal(received.at(-1)!.headers.range, undefined)
    const chunked = await send('GET', '/shop/chunked')
    t.equal(chunked.text, '{"id":1.0}')
    t.equal(chunked.headers['content-length'], '10')
    for (const path of ['long', 'long-chunked']) {
      const long = await send('GET', `/shop/${path}`)
      t.match(long, { status: 502, text: /response body exceeds the limit of 65536 bytes/ }, path)
      t.equal((await send('GET', `/plain/${path}`)).text.length, 70_013)
    }
    t.equal((await send('GET', '/shop/text')).text, '{"secret":1}')
    for (const path of ['/shop/invalid', '/shop/coded'])
      t.equal((await send('GET', path)).status, 502, path)
    t.equal((await send('GET', '/shop/none')).status, 204)
    t.match(await send('GET', '/shop/lost'), { status: 502, text: /closed the connection/ })
    const same = await send('GET', '/shop/same', { 'if-none-match': 'W/"1"' })
    t.match(same, { status: 304, text: '', headers: { etag: 'W/"1"' } })
    const head = await send('HEAD', '/shop/whole')
    t.match(head, { status: 200, text: '', headers: { etag: 'W/"1"' } })
    t.equal(head.headers['content-length'], undefined)
    t.equal((await send('HEAD', '/plain/whole')).headers['content-length'], '34')
    t.equal((await send('GET', '/fixed')).text, '{"b":1}')
    t.equal((await send('GET', '/plain/whole')).text, '{"secret":1,"id":9007199254740993}')

    const body = '{"debug":true,"user":{"n":1e2},"user":{"n":1.0}}'
    for (const framing of [
      { 'content-length': String(body.length) },
      { 'transfer-encoding': 'chunked' },
    ]) {
      await send(
        'POST',
        '/shop/whole',
        { ...JSON_TYPE, ...framing } as Record<string, string>,
        body,
      )
      const { headers, body: changed } = received.at(-1)!
      t.equal(changed, '{"user":{"n":1.0,"source":"gateway"}}')
      t.equal(headers['content-length'], String(changed.length))
      t.equal(headers['transfer-encoding'], undefined)
    }
    const before = received.length
    t.match(await send('POST', '/shop/whole', JSON_TYPE, '{"a":'), {
      status: 400,
      text: /must be JSON/,
    })
    const long = JSON.stringify({ a: 'x'.repeat(65_536) })
    t.equal((await send('POST', '/shop/whole', JSON_TYPE, long)).status, 413)
    t.equal(received.length, before, 'neither was forwarded')
    await send('POST', '/shop/whole', { 'content-type': 'text/plain' }, long)
    t.equal(received.at(-1)!.body, long)

    const events = new RawClient(gateway.port)
    t.teardown(() => events.socket.destroy())
    events.send('GET /shop/events HTTP/1.1\r\nHost: a\r\n\r\n')
    await events.waitUntil(() => events.text.includes('data: {"secret":1}'))
    t.pass('an event stream is not buffered')
  })
}

for (const [name, listener] of Object.entries(LISTENERS))
  t.test(
    `${name}: JSON bodies of calls are changed, including through /rpc and HTTP/2`,
    async (t) => {
      const service = await openMxService(t, createGreeter())
      const json = buildPlugin(plugins['json']!, {
        request: { remove: ['secret'], set: { added: 1 } },
        reply: { rename: { added: 'more' } },
      })
      const { origin } = await openRpcGateway(t, [service.entry], {
        ...{
          plugins: [json],
          listener,
          ...(name === 'node' && { listening: { http2: 'cleartext' } }),
        },
      })
      const post = async (path: string, body: unknown, headers = JSON_TYPE): Promise<unknown> => {
        const init = { method: 'POST', headers, body: JSON.stringify(body) }
        return (await fetch(`${origin}${path}`, init)).json()
      }
      const request = { secret: 1, id: 2 }
      const expected = { id: 2, more: 1 }
      t.same(await post('/greeter/echo', request), expected)
      const call = { service: service.entry.name, method: 'Greeter.Echo', request }
      t.same(await post('/rpc', call), expected)
      const bytes = new Uint8Array(Buffer.from(JSON.stringify(request)))
      const untyped = await fetch(`${origin}/greeter/echo`, { method: 'POST', body: bytes })
      t.same(await untyped.json(), expected, 'a body without a type')
      t.match(await post('/greeter/fail', { code: 418 }), { Code: 418 })
      // The other listener delegates HTTP/2 to this one.
      if (name !== 'node') return
      const session = connect(origin)
      t.teardown(() => session.destroy())
      const headers = { ':method': 'POST', ':path': '/greeter/echo', ...JSON_TYPE }
      const stream = session.request(headers)
      stream.end(JSON.stringify(request))
      stream.setEncoding('utf8')
      t.same(JSON.parse((await stream.toArray()).join('')), expected, 'HTTP/2')
    },
  )

t.test('JSON bodies of api.Request and api.Response are changed', async (t) => {
  const show = endpoint({
    handle: (request) => ({
      statusCode: 200,
      header: { 'content-type': { key: 'content-type', values: ['application/json'] } },
      body: (request as ApiRequest).body,
    }),
  })
  const api = { Pages: { show } }
  const service = await openMxService(t, api, { name: 'go.mx.api.pages' })
  const json = buildPlugin(plugins['json']!, {
    request: { set: { a: 1 } },
    reply: { add: { b: 2 } },
  })
  const { origin } = await openRpcGateway(t, [service.entry], {
    flags: ['--handler=api'],
    plugins: [json],
  })
  const reply = await fetch(`${origin}/pages/show`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: '{}',
  })
  t.same(await reply.json(), { a: 1, b: 2 })
})
