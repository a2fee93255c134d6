import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request as requestNode } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import t from 'tap'
import { Agent, request } from 'undici'
import type { Plugin } from '../../../../core/chain.ts'
import { GatewayError } from '../../../../core/errors.ts'
import type { Exchange } from '../../../../core/exchange.ts'
import type { UpstreamNode } from '../../../../core/upstream/node/upstream-node.ts'
import { LISTENERS, openGateway } from '../../../fixtures/gateway.ts'
import { openRawBackend, type RawBackend, tick, waitUntil } from '../../../fixtures/raw-backend.ts'
import { RawClient } from '../../../fixtures/raw-client.ts'

const SERVICE = 'go.mx.api.app'
const CLOSED_PORT = 1
const agent = new Agent()
t.teardown(() => agent.destroy())

async function get(origin: string, path = '/app/x', options: object = {}) {
  const { statusCode, headers, body } = await request(origin + path, {
    dispatcher: agent,
    ...options,
  })
  return { status: statusCode, headers, body: await body.text() }
}

const answering = (...replies: string[]) => {
  let n = 0
  return {
    onRequest: (server: { send: (text: string) => unknown }) =>
      server.send(replies[Math.min(n++, replies.length - 1)]!),
  }
}
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

for (const [name, listener] of Object.entries(LISTENERS)) {
  t.test(`on ${name}`, async (t) => {
    t.test('forwards the complete path and the end-to-end headers in order', async (t) => {
      const backend = await openRawBackend(
        t,
        answering(
          'HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX-Y: z\r\nSet-Cookie: b=2\r\nConnection: X-Hop\r\nX-Hop: 1\r\nDate: yesterday\r\nContent-Length: 2\r\n\r\nok',
        ),
      )
      const { port } = await openGateway(t, { app: [backend.port] }, { listener })
      const client = new RawClient(port)
      client.send(
        'GET /app/a%20b/../c?d=e&f HTTP/1.1\r\nHost: shop.test:8080\r\nX-A: 1\r\nCookie: x\r\nX-A: 2\r\n\r\n'.replace(
          '/..',
          '/..x',
        ),
      )
      await client.replies(1)
      const server = backend.connections[0]!
      t.equal(
        server.text,
        'GET /app/a%20b/..x/c?d=e&f HTTP/1.1\r\nhost: shop.test:8080\r\nx-a: 1\r\ncookie: x\r\nx-a: 2\r\n\r\n',
      )
      t.match(client.text, /^HTTP\/1\.1 200 OK\r\n/)
      t.match(client.text.toLowerCase(), /set-cookie: a=1\r\nx-y: z\r\nset-cookie: b=2\r\n/)
      t.notMatch(client.text.toLowerCase(), /x-hop|yesterday/)
      client.destroy()
    })

    t.test('does not forward hop-by-hop headers', async (t) => {
      const backend = await openRawBackend(t, answering(OK))
      const { port } = await openGateway(t, { app: [backend.port] }, { listener })
      const client = new RawClient(port)
      client.send(
        'GET /app HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: a\r\nProxy-Authorization: b\r\nProxy-Connection: c\r\nTrailer: d\r\nX-Under_Score: e\r\nMx-Account: f\r\n\r\n',
      )
      await client.replies(1)
      t.equal(backend.connections[0]!.text, 'GET /app HTTP/1.1\r\nhost: a.test\r\n\r\n')
      client.destroy()
    })

    t.test(
      'retries a request on a new connection if all keep-alive connections are dead',
      async (t) => {
        const backend = await openRawBackend(t, {
          // As after a machine reset, each keep-alive connection closes at its next request.
          onRequest: (server) => {
            if (server.requests === 1) server.reply()
            else server.socket.resetAndDestroy()
          },
        })
        const { port } = await openGateway(t, { app: [backend.port] }, { listener })
        const getStatus = async () => (await fetch(`http://127.0.0.1:${port}/app`)).status
        t.strictSame(await Promise.all([getStatus(), getStatus(), getStatus()]), [200, 200, 200])
        t.equal(backend.connections.length, 3)
        t.equal(await getStatus(), 200)
        t.equal(backend.connections.length, 4)
      },
    )

    t.test('forwards responses without a body (204, 304, HEAD)', async (t) => {
      const replies = [
        'HTTP/1.1 204 No Content\r\nX: 1\r\n\r\n',
        'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 100\r\n\r\n',
        'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n',
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast',
      ]
      const backend = await openRawBackend(t, answering(...replies))
      const { port } = await openGateway(t, { app: [backend.port] }, { listener })
      const client = new RawClient(port)
      const requestRaw = async (method: string, pattern: RegExp) => {
        const from = client.text.length
        client.send(`${method} /app HTTP/1.1\r\nHost: a.test\r\n\r\n`)
        await client.waitUntil(() => pattern.test(client.text.slice(from)))
        return client.text.slice(from)
      }
      t.match(await requestRaw('GET', /\r\n\r\n/), /^HTTP\/1\.1 204 /)
      const unchanged = await requestRaw('GET', /\r\n\r\n/)
      t.match(unchanged, /^HTTP\/1\.1 304 /)
      t.match(unchanged, /content-length: 100/i)
      t.match(unchanged, /etag: "a"/i)
      const head = await requestRaw('HEAD', /\r\n\r\n/)
      t.match(head, /^HTTP\/1\.1 200 /)
      t.match(head, /content-length: 100/i)
      const last = await requestRaw('GET', /last$/)
      t.match(last, /^HTTP\/1\.1 200 /, 'informational responses are not forwarded')
      t.equal(backend.connections.length, 1, 'all use one connection')
      client.destroy()
    })

    t.test('a service without nodes returns 503', async (t) => {
      const { origin } = await openGateway(t, { app: [] }, { listener })
      const { status, headers, body } = await get(origin)
      t.equal(status, 503)
      t.match(headers['content-type'], /^application\/json/)
      t.strictSame(JSON.parse(body), {
        Id: SERVICE,
        Code: 503,
        Detail: `no node of ${SERVICE} is available`,
        Status: 'Service Unavailable',
      })
    })

    t.test('a failed TLS handshake or name resolution returns 502 with the reason', async (t) => {
      const plain = await openRawBackend(t, answering(OK))
      plain.server.on('connection', (socket) => socket.end(OK))
      const backends = {
        secure: [`https://127.0.0.1:${plain.port}`],
        unknown: ['no-such-host.invalid:80'],
      }
      const { origin } = await openGateway(t, backends, { listener })
      const getError = async (path: string): Promise<string> => {
        const { status, body } = await get(origin, path)
        t.equal(status, 502)
        return JSON.parse(body).Detail
      }
      t.equal(await getError('/secure'), 'bad gateway: the TLS handshake with the backend failed')
      t.match(
        await getError('/unknown'),
        /^bad gateway: the name of the backend (?:does|was) not resolve/,
      )
    })

    t.test(
      'a refused connection is retried on the next node, and the last one returns 502',
      async (t) => {
        const backend = await openRawBackend(t, answering(OK))
        const done: Exchange[] = []
        const watch = { name: 'watch', onDone: (x: Exchange) => void done.push(x) }
        const withoutNodes = await openGateway(
          t,
          { app: [CLOSED_PORT] },
          { listener, plugins: [watch] },
        )
        const { status, body } = await get(withoutNodes.origin)
        t.equal(status, 502)
        await waitUntil(() => done.length === 1)
        t.match(done[0]!.failure, /^connect ECONNREFUSED/, 'the cause is logged')
        t.match(done[0]!.node, String(CLOSED_PORT), 'the node is logged')
        t.strictSame(JSON.parse(body), {
          Id: SERVICE,
          Code: 502,
          Detail: 'bad gateway: the backend refused the connection',
          Status: 'Bad Gateway',
        })
        const { origin } = await openGateway(t, { app: [CLOSED_PORT, backend.port] }, { listener })
        for (let i = 0; i < 6; i++) {
          t.equal(
            (await get(origin, '/app', { method: 'POST', body: `body ${i}` })).status,
            200,
            'any method is retried if nothing was sent',
          )
        }
        t.match(backend.connections[0]!.text, /body 0.*body 1.*body 2.*body 3.*body 4.*body 5/s)
      },
    )

    t.test('a backend without a response within reply_timeout results in 504', async (t) => {
      const backend = await openRawBackend(t)
      const { origin } = await openGateway(
        t,
        { app: [backend.port] },
        { listener, pool: { timeouts: { connectMs: 5000, replyMs: 100, idleMs: 10_000 } } },
      )
      for (const options of [{}, { method: 'POST', body: 'abc' }]) {
        const { status, body } = await get(origin, '/app', options)
        t.equal(status, 504)
        t.match(JSON.parse(body), {
          Id: SERVICE,
          Code: 504,
          Detail: 'the backend did not respond in time',
          Status: 'Gateway Timeout',
        })
      }
      await Promise.all(backend.connections.map((server) => server.ended()))
      t.equal(backend.connections.length, 2, 'no retry')
    })

    t.test(
      'a malformed response results in 502, and no part of it reaches the client',
      async (t) => {
        const backend = await openRawBackend(
          t,
          answering(
            'HTTP/1.1 200 OK\r\nX-Evil : 1\r\nContent-Length: 4\r\n\r\nevil',
            'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 4\r\n\r\nevil',
            'HTTP/1.1 200 OK\nContent-Length: 4\n\nevil',
            'SSH-2.0-OpenSSH\r\n',
            OK,
          ),
        )
        const { origin } = await openGateway(t, { app: [backend.port] }, { listener })
        for (let i = 0; i < 4; i++) {
          const { status, headers, body } = await get(origin)
          t.equal(status, 502)
          t.match(JSON.parse(body), { Detail: 'bad gateway: malformed response from the backend' })
          t.notMatch(JSON.stringify(headers) + body, /evil/i)
        }
        t.equal((await get(origin)).status, 200)
        t.equal(backend.connections.length, 5, 'each uses a separate connection')
      },
    )

    t.test('a truncated or malformed body closes the client connection', async (t) => {
      const broken = [
        'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf',
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n',
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nZZ\r\n',
      ]
      for (const reply of broken) {
        const backend = await openRawBackend(t, {
          onRequest: (server) => {
            server.send(reply)
            if (!reply.includes('ZZ')) server.socket.end()
          },
        })
        const { port } = await openGateway(t, { app: [backend.port] }, { listener })
        const client = new RawClient(port)
        client.send('GET /app HTTP/1.1\r\nHost: a.test\r\n\r\n')
        await client.ended()
        t.notMatch(client.text, /\r\n0\r\n\r\n$/, 'no clean end of the body')
        t.notMatch(client.text, /ZZ/)
        client.destroy()
      }
    })

    t.test(
      'a body beyond the limit is rejected with 413, and the backend receives no complete request',
      async (t) => {
        const backend = await openRawBackend(t)
        const limit = {
          name: 'limit',
          onRequest: (x: { bodyLimit: number }) => {
            x.bodyLimit = 1000
          },
        }
        const { port, origin } = await openGateway(
          t,
          { app: [backend.port] },
          { listener, plugins: [limit] },
        )
        const client = new RawClient(port)
        client.send('POST /app HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n')
        client.send(`1f4\r\n${'a'.repeat(500)}\r\n`)
        const server = await backend.connection()
        await server.waitUntil(() => server.text.includes('aaaa'))
        client.send(`1f4\r\n${'b'.repeat(500)}\r\n1\r\nc\r\n`)
        await client.waitUntil(() => client.text.includes('}'))
        t.match(client.text, /^HTTP\/1\.1 413 /)
        await server.ended()
        t.notMatch(server.text, /0\r\n\r\n$/)
        await client.ended()
        client.destroy()
        backend.connections.length = 0
        const { status } = await get(origin, '/app', { method: 'POST', body: 'x'.repeat(2000) })
        t.equal(status, 413)
      },
    )

    t.test('plugins and backends cannot inject headers', async (t) => {
      const faultyPlugin =
        (hook: string) => (x: { query: string; headers: never; replyHeaders: never }) => {
          const [position, field, value] = decodeURIComponent(x.query).split('=')
          const list = (hook === 'onRequest' ? x.headers : x.replyHeaders) as {
            set: (name: string, value: string) => void
          }
          if (position === hook) list.set(field!, value!)
        }
      const plugin = {
        name: 'injects',
        onRequest: faultyPlugin('onRequest'),
        onReply: faultyPlugin('onReply'),
      }
      const backend = await openRawBackend(t, answering(OK))
      const { origin } = await openGateway(
        t,
        { app: [backend.port] },
        { listener, plugins: [plugin as never] },
      )
      for (const hook of ['onRequest', 'onReply']) {
        for (const field of [
          'x=a\r\nx-evil: 1',
          'x=a\nx-evil: 1',
          'x=a\0',
          'x: 1\r\nx-evil=1',
          'x y=1',
          'content-length=5',
          'transfer-encoding=chunked',
        ]) {
          const { status, headers } = await get(
            origin,
            `/app?${encodeURIComponent(`${hook}=${field}`)}`,
          )
          t.equal(status, 500, JSON.stringify(`${hook} ${field}`))
          t.notOk('x-evil' in headers)
        }
      }
      const { status } = await get(
        origin,
        `/app?${encodeURIComponent('onRequest=host=inner.test')}`,
      )
      t.equal(status, 200)
      const [server] = backend.connections
      t.notMatch(server!.text, /\r\nx-evil/)
      t.match(server!.text, /host: inner\.test\r\n/)
      t.equal(server!.text.match(/host: inner\.test/g)!.length, 1)
      const last = server!.text.slice(server!.text.lastIndexOf('GET '))
      t.equal(last.match(/host:/g)!.length, 1, 'a single Host header')
    })

    t.test('a plugin that throws fails only its request, with 500', async (t) => {
      const thrown: Record<string, unknown> = {
        error: new Error('secret detail'),
        nothing: undefined,
        bare: Object.create(null),
        symbol: Symbol('s'),
        fields: new GatewayError('a', 400, 'b', { headers: ['bad name', 'x'] }),
        split: new GatewayError('a', 400, 'b', { headers: ['x', 'y\r\nz: 1'] }),
        code: new GatewayError('a', 42, 'b'),
      }
      const at = (hook: string) => (x: { query: string }) => {
        const [position, description] = x.query.split('=')
        if (position === hook) throw thrown[description!]
        if (position === `async-${hook}`)
          return Promise.resolve().then(() => {
            throw thrown[description!]
          })
        return undefined
      }
      const plugin = {
        name: 'throws',
        onRequest: at('onRequest'),
        onRoute: at('onRoute'),
        onReply: at('onReply'),
        onDone: at('onDone'),
      }
      const backend = await openRawBackend(t, answering(OK))
      const { origin, gateway } = await openGateway(
        t,
        { app: [backend.port] },
        { listener, plugins: [plugin as never] },
      )
      for (const hook of ['onRequest', 'onRoute', 'onReply', 'async-onRequest', 'async-onRoute']) {
        for (const description of Object.keys(thrown)) {
          const { status, body } = await get(origin, `/app?${hook}=${description}`)
          t.equal(
            status,
            hook === 'onReply' && (description === 'fields' || description === 'split') ? 400 : 500,
            `${hook} ${description}`,
          )
          t.notMatch(body, /secret/)
        }
      }
      for (const description of Object.keys(thrown)) {
        t.equal(
          (await get(origin, `/app?onDone=${description}`)).status,
          200,
          `onDone ${description}`,
        )
      }
      t.equal((await get(origin)).status, 200)
      await waitUntil(() => gateway.inFlight === 0)
    })

    t.test('a connection header set by a plugin results in 500', async (t) => {
      for (const field of ['trailer', 'connection', 'transfer-encoding', 'keep-alive']) {
        const plugin: Plugin = {
          name: 'odd',
          onReply: (x) => x.replyHeaders.set(field, 'x-late'),
        }
        const backend = await openRawBackend(t, answering(OK))
        const { origin, faults } = await openGateway(
          t,
          { app: [backend.port] },
          { listener, plugins: [plugin] },
        )
        const { status, headers } = await get(origin)
        t.equal(status, 500)
        t.notOk('trailer' in headers)
        t.match(faults, [{ message: `the gateway manages the header ${field}` }])
      }
    })

    t.test(
      'a connection lost with several requests in flight counts as one failure of its node',
      async (t) => {
        let nodes: readonly UpstreamNode[] = []
        const plugin: Plugin = {
          name: 'test-nodes',
          onRoute: (x) => {
            nodes = x.upstream!.nodes
          },
        }
        const backend = await openRawBackend(t, {
          onRequest: (server) => {
            if (server.requests === 6) server.socket.destroy()
          },
        })
        const { origin } = await openGateway(
          t,
          { app: [backend.port] },
          { listener, plugins: [plugin], pool: { pipeline: 6, maxConnections: 1 } },
        )
        const replies = await Promise.all(Array.from({ length: 6 }, () => get(origin)))
        t.ok(replies.every(({ status }) => status === 502))
        t.equal(backend.connections.length, 1, 'no retry on the only node')
        t.equal(nodes[0]!.failures.consecutive, 1)
      },
    )

    t.test('an invalid status set by a plugin results in 500', async (t) => {
      const plugin = {
        name: 'odd',
        onReply: (x: { status: unknown; query: string }) => {
          x.status = JSON.parse(decodeURIComponent(x.query))
        },
      }
      const backend = await openRawBackend(t, answering(OK))
      const { origin } = await openGateway(
        t,
        { app: [backend.port] },
        { listener, plugins: [plugin as never] },
      )
      for (const invalid of [
        0,
        42,
        100,
        199,
        1000,
        200.5,
        -1,
        null,
        '200',
        '200 OK\r\nx-evil: 1',
      ]) {
        const { status, headers } = await get(
          origin,
          `/app?${encodeURIComponent(JSON.stringify(invalid))}`,
        )
        t.equal(status, 500, JSON.stringify(invalid))
        t.notOk('x-evil' in headers)
      }
      t.equal((await get(origin, '/app?299')).status, 299)
    })

    t.test('a client disconnect ends the request at the backend', async (t) => {
      const backend = await openRawBackend(t)
      const { port, gateway } = await openGateway(t, { app: [backend.port] }, { listener })
      const requests = [
        'GET /app HTTP/1.1\r\nHost: a.test\r\n\r\n',
        'POST /app HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nhalf',
      ]
      for (const [i, text] of requests.entries()) {
        const client = new RawClient(port)
        client.send(text)
        const server = await backend.connection(i)
        await server.request()
        client.destroy()
        await server.ended()
      }
      const client = new RawClient(port)
      client.send(requests[0]!)
      const server = await backend.connection(2)
      await server.request()
      server.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n')
      await client.waitUntil(() => client.text.includes('half'))
      client.destroy()
      await server.ended()
      await waitUntil(() => gateway.inFlight === 0)
    })

    t.test('server-sent events are forwarded one by one without buffering', async (t) => {
      const backend = await openRawBackend(t)
      const { port } = await openGateway(t, { app: [backend.port] }, { listener })
      const client = new RawClient(port)
      client.send('GET /app/events HTTP/1.1\r\nHost: a.test\r\nAccept: text/event-stream\r\n\r\n')
      const server = await backend.connection()
      await server.request()
      server.send(
        'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n',
      )
      for (let i = 0; i < 20; i++) {
        const event = `data: ${i}\n\n`
        server.send(`${event.length.toString(16)}\r\n${event}\r\n`)
        await client.waitUntil(() => client.text.includes(event))
      }
      server.send('0\r\n\r\n')
      await client.waitUntil(() => client.text.endsWith('0\r\n\r\n'))
      client.destroy()
    })

    t.test(
      'GET and HEAD on a stale connection are retried once, other methods are not',
      async (t) => {
        let backend: RawBackend
        const stale = {
          onRequest: (server: {
            requests: number
            socket: { destroy: () => void }
            reply: () => void
          }) => (server.requests > 1 ? server.socket.destroy() : server.reply()),
        }
        for (const [method, status] of [
          ['GET', 200],
          ['HEAD', 200],
          ['DELETE', 502],
          ['OPTIONS', 502],
          ['POST', 502],
          ['PATCH', 502],
        ] as const) {
          backend = await openRawBackend(t, stale)
          const { origin } = await openGateway(t, { app: [backend.port] }, { listener })
          t.equal((await get(origin)).status, 200)
          t.equal((await get(origin, '/app', { method })).status, status, method)
          const sent = backend.connections.reduce((sum, server) => sum + server.requests, 0)
          t.equal(sent, status === 200 ? 3 : 2, `${method}: number of attempts`)
        }
        backend = await openRawBackend(t, { onRequest: (server) => server.socket.destroy() })
        const { origin } = await openGateway(t, { app: [backend.port] }, { listener })
        t.equal((await get(origin)).status, 502)
        t.equal(backend.connections.length, 1, 'no retry on a new connection of the only node')
        const nodes = await Promise.all(
          [1, 2, 3].map(() =>
            openRawBackend(t, { onRequest: (server) => server.socket.destroy() }),
          ),
        )
        const several = await openGateway(t, { app: nodes.map(({ port }) => port) }, { listener })
        t.equal((await get(several.origin)).status, 502)
        const queries = nodes.map(({ connections }) => connections.length)
        t.strictSame(queries.sort(), [0, 1, 1], 'one retry on another node')
        backend = await openRawBackend(t, {
          onRequest: (server) => server.send('HTTP/1.1 2').socket.end(),
        })
        const started = await openGateway(t, { app: [backend.port] }, { listener })
        t.equal((await get(started.origin)).status, 502)
        t.equal(backend.connections.length, 1, 'no retry after the start of a response')
        backend = await openRawBackend(t, stale)
        const withBody = await openGateway(t, { app: [backend.port] }, { listener })
        t.equal((await get(withBody.origin)).status, 200)
        t.equal(
          (await get(withBody.origin, '/app', { method: 'PUT', body: 'gone' })).status,
          502,
          'the request body is no longer available',
        )
      },
    )

    t.test(
      'a request beyond max_connections of the last node fails with 503 and Retry-After',
      async (t) => {
        const backend = await openRawBackend(t)
        const { origin } = await openGateway(
          t,
          { app: [backend.port] },
          { listener, pool: { maxConnections: 1, maxWaiting: 0 } },
        )
        const first = get(origin)
        const server = await backend.connection()
        await server.request()
        const { status, headers } = await get(origin)
        t.equal(status, 503)
        t.equal(headers['retry-after'], '1')
        server.reply()
        t.equal((await first).status, 200)
      },
    )

    t.test(
      'a response before the end of the request is forwarded and closes both connections',
      async (t) => {
        const backend = await openRawBackend(
          t,
          answering('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno'),
        )
        const { port } = await openGateway(t, { app: [backend.port] }, { listener })
        const client = new RawClient(port)
        client.send('POST /app HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000\r\n\r\nhalf')
        await client.ended()
        t.match(client.text, /^HTTP\/1\.1 401 /)
        t.match(client.text, /no(?:\r\n0\r\n\r\n)?$/)
        await backend.connections[0]!.ended()
        client.destroy()
      },
    )

    t.test('10 MiB arrive unchanged in both directions with slow readers', async (t) => {
      const body = Buffer.alloc(10 * 1024 * 1024)
      for (let i = 0; i < body.length; i += 4) body.writeUInt32LE((i * 2654435761) >>> 0, i)
      const backend = await openRawBackend(t, { isKeptAlive: false })
      const { origin, port } = await openGateway(t, { app: [backend.port] }, { listener })
      for (const framing of ['length', 'chunked'] as const) {
        // Upload: a source that sends chunks, and a backend that pauses occasionally.
        const digest = createHash('sha256')
        let received = ''
        let bodyBytes = 0
        const uploaded = new Promise<void>((resolve) => {
          backend.server.once('connection', (socket) => {
            let head = ''
            socket.on('data', (bytes: Buffer) => {
              let rest = bytes
              if (received === '') {
                head += bytes.toString('latin1')
                const end = head.indexOf('\r\n\r\n')
                if (end < 0) return
                received = head.slice(0, end)
                rest = Buffer.from(head.slice(end + 4), 'latin1')
              }
              if (framing === 'length') digest.update(rest)
              bodyBytes += rest.length
              if (bodyBytes % 7 === 0) {
                socket.pause()
                setImmediate(() => socket.resume())
              }
              const finished =
                framing === 'length'
                  ? bodyBytes === body.length
                  : rest.toString('latin1', rest.length - 7) === '\r\n0\r\n\r\n'
              if (finished) {
                socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok')
                resolve()
              }
            })
          })
        })
        const pieces = Readable.from(
          (function* () {
            for (let at = 0; at < body.length; at += 100_000) yield body.subarray(at, at + 100_000)
          })(),
        )
        const headers: Record<string, string> =
          framing === 'length' ? { 'content-length': String(body.length) } : {}
        const sent = get(origin, '/app', { method: 'POST', body: pieces, headers })
        await uploaded
        t.equal((await sent).status, 200)
        if (framing === 'length') t.equal(digest.digest('hex'), hash(body), 'upload')
        else t.ok(bodyBytes > body.length)

        // Download: a client that pauses after every chunk.
        backend.server.once('connection', (socket) => {
          socket.once('data', () => {
            if (framing === 'length') {
              socket.write(
                `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
              )
              socket.write(body)
              return
            }
            socket.write(
              'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n',
            )
            for (let at = 0; at < body.length; at += 65_536) {
              const piece = body.subarray(at, at + 65_536)
              socket.write(`${piece.length.toString(16)}\r\n`)
              socket.write(piece)
              socket.write('\r\n')
            }
            socket.write('0\r\n\r\n')
          })
        })
        const download = requestNode({ host: '127.0.0.1', port, path: '/app' }).end()
        const [message] = await once(download, 'response')
        const got = createHash('sha256')
        for await (const chunk of message) {
          got.update(chunk)
          await tick()
        }
        t.equal(got.digest('hex'), hash(body), `download, ${framing}`)
      }
    })

    t.test('a stalled client pauses the backend', async (t) => {
      const size = 64 * 1024 * 1024
      const backend = await openRawBackend(t)
      const { port } = await openGateway(t, { app: [backend.port] }, { listener })
      for (const [i, head] of [
        `Content-Length: ${size}\r\n\r\n`,
        `Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n`,
      ].entries()) {
        const socket = connect(port, '127.0.0.1')
        socket.on('error', () => {})
        socket.pause()
        socket.write('GET /app HTTP/1.1\r\nHost: a.test\r\n\r\n')
        const server = await backend.connection(i)
        await server.request()
        const rss = process.memoryUsage().arrayBuffers
        server.send(`HTTP/1.1 200 OK\r\n${head}`)
        let sent = 0
        const piece = Buffer.alloc(1024 * 1024)
        // Waits until no data is transferred for several ticks.
        for (let unchangedChecks = 0; unchangedChecks < 200 && sent < size; unchangedChecks++) {
          while (sent < size && server.socket.writableLength === 0) {
            server.socket.write(piece)
            sent += piece.length
            unchangedChecks = 0
          }
          await tick()
        }
        t.ok(sent < 24 * 1024 * 1024, `${getFraming(head)}: ${sent} bytes left the backend`)
        t.ok(process.memoryUsage().arrayBuffers - rss < 24 * 1024 * 1024)
        socket.destroy()
        await server.ended()
      }
    })

    t.test('a stalled backend pauses the client', async (t) => {
      const size = 64 * 1024 * 1024
      const backend = await openRawBackend(t, { isKeptAlive: false })
      const { port } = await openGateway(t, { app: [backend.port] }, { listener })
      for (const [i, framing] of ['Content-Length', 'Transfer-Encoding'].entries()) {
        const socket = connect(port, '127.0.0.1')
        socket.on('error', () => {})
        socket.write(
          `POST /app HTTP/1.1\r\nHost: a.test\r\n${framing}: ${i === 0 ? size : 'chunked'}\r\n\r\n`,
        )
        const server = await backend.connection(i)
        server.socket.pause()
        let sent = 0
        const piece = Buffer.alloc(1024 * 1024)
        const framed =
          i === 0 ? piece : Buffer.concat([Buffer.from('100000\r\n'), piece, Buffer.from('\r\n')])
        for (let unchangedChecks = 0; unchangedChecks < 200 && sent < size; unchangedChecks++) {
          while (sent < size && socket.writableLength === 0) {
            socket.write(framed)
            sent += piece.length
            unchangedChecks = 0
          }
          await tick()
        }
        t.ok(sent < 24 * 1024 * 1024, `${framing}: ${sent} bytes left the client`)
        socket.destroy()
        server.socket.resume()
        await server.ended()
      }
    })
  })
}

t.test('responses pending for a slow client are not overwritten by other responses', async (t) => {
  const size = 30_000
  const backend = await openRawBackend(t, {
    onRequest: (server) => {
      const path = server.text.slice(server.text.lastIndexOf('/app/') + 5)
      const fill = Number.parseInt(path, 10)
      server
        .send(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`)
        .send(Buffer.alloc(size, fill))
    },
  })
  const { port, origin } = await openGateway(
    t,
    { app: [backend.port] },
    { listener: LISTENERS.node },
  )
  const count = 250
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  for (let i = 0; i < count; i++) socket.write(`GET /app/${i} HTTP/1.1\r\nHost: a.test\r\n\r\n`)
  for (let i = 0; i < 300; i++) await get(origin, '/app/255')
  let text = Buffer.alloc(0)
  const chunks: Buffer[] = []
  let bytes = 0
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes < count * size) return
    text = Buffer.concat(chunks)
    if (text.toString('latin1').split('HTTP/1.1 200').length - 1 === count) socket.destroy()
  })
  socket.resume()
  await once(socket, 'close')
  let at = 0
  const invalid: number[] = []
  for (let i = 0; i < count; i++) {
    at = text.indexOf('\r\n\r\n', at) + 4
    if (!text.subarray(at, at + size).equals(Buffer.alloc(size, i))) invalid.push(i)
    at += size
  }
  t.strictSame(invalid, [])
})

function getFraming(head: string): string {
  return head.slice(0, head.indexOf(':'))
}
