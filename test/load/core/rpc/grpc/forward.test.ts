import { once } from 'node:events'
import {
  connect,
  constants,
  createSecureServer,
  createServer,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import * as grpc from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import type { Plugin } from '../../../../../core/chain.ts'
import type { Tracer } from '../../../../../core/contracts/tracer.ts'
import { GatewayError } from '../../../../../core/errors.ts'
import { bodyMemory, replyMemory } from '../../../../../core/limits/memory-budget.ts'
import { createNodeListener } from '../../../../../core/listener/node/listener.ts'
import { createUwsListener } from '../../../../../core/listener/uws/listener.ts'
import { RequestMetrics } from '../../../../../core/metrics/request-metrics.ts'
import { ExchangeTrace } from '../../../../../core/tracing/exchange-trace.ts'
import { STREAM_WINDOW_BYTES } from '../../../../../core/upstream/http2/connection.ts'
import { Http2Pool } from '../../../../../core/upstream/http2/pool.ts'
import type { PoolAddress } from '../../../../../core/upstream/node/pool-address.ts'
import { createUpstreamTls } from '../../../../../core/upstream/tls.ts'
import { createCertificate } from '../../../../fixtures/certificates.ts'
import {
  collect,
  type Greeting,
  GrpcClient,
  getStatus,
  openGrpcBackend,
  openRelay,
} from '../../../../fixtures/grpc.ts'
import { END_HEADERS, END_STREAM, FRAME, toBlock, toFrame } from '../../../../fixtures/http2-raw.ts'
import { listen } from '../../../../fixtures/listen.ts'
import { openRawBackend, waitUntil } from '../../../../fixtures/raw-backend.ts'
import {
  openRpcGateway,
  type RpcGateway,
  type RpcGatewayOptions,
} from '../../../../fixtures/rpc-gateway.ts'
import { makeNode, makeService } from '../../../../fixtures/services.ts'

const { status: STATUS } = grpc
const NAME = 'go.mx.api.helloworld'
/** Limits of a pool with a reply timeout of 100 ms. */
const SHORT_TIMEOUTS = {
  timeouts: { connectMs: 5000, replyMs: 100, idleMs: 5000 },
  keepAliveMs: 1000,
  maxConnections: 10,
  maxWaiting: 10,
}
const GRPC_HEAD = [':status', '200', 'content-type', 'application/grpc']

/** A gateway that serves HTTP/2 without TLS, in front of gRPC backends at these ports. */
function open(
  t: Test,
  ports: readonly number[],
  options: RpcGatewayOptions = {},
): Promise<RpcGateway> {
  const nodes = ports.map((port) => makeNode(`127.0.0.1:${port}`, { protocol: 'grpc' }))
  return openRpcGateway(t, nodes.length === 0 ? [] : [makeService(NAME, nodes)], {
    listener: createNodeListener,
    listening: { http2: 'cleartext' },
    ...options,
  })
}

t.test('calls of every kind are forwarded to a gRPC backend', async (t) => {
  const backend = await openGrpcBackend(t)
  const gateway = await open(t, [backend.port])
  const client = new GrpcClient(t, gateway.port)

  t.test('unary: message, metadata in both directions, trailers', async (t) => {
    const metadata = new grpc.Metadata()
    metadata.set('x-word', 'one, two')
    metadata.set('key-bin', Buffer.from([0, 255, 10]))
    const { message, head, status } = await client.call('Context', 'a', { metadata })
    t.equal(status.code, STATUS.OK)
    const receivedMetadata = JSON.parse(message!)
    t.match(receivedMetadata, { 'x-word': 'one, two' })
    t.strictSame(head!.get('x-head'), ['first'])
    t.strictSame(head!.get('key-bin'), [Buffer.from([0, 255, 10])])
    t.strictSame(status.metadata.get('x-trailer'), ['last'])
    await waitUntil(() => gateway.exchanges.at(-1)!.finished)
    t.equal(gateway.exchanges.at(-1)?.rpcStatus, 0)
  })

  t.test('errors preserve code, text and binary metadata', async (t) => {
    const { status } = await client.call('Fail', `${STATUS.FAILED_PRECONDITION}`)
    t.equal(status.code, STATUS.FAILED_PRECONDITION)
    t.equal(status.details, '100 % Jörg')
    t.strictSame(status.metadata.get('why-bin'), [Buffer.from([0, 1, 255])])
  })

  t.test('server stream', async (t) => {
    const { messages, status } = await collect(client.stream('Count', '3'))
    t.strictSame(messages, ['1', '2', '3'])
    t.equal(status.code, STATUS.OK)
  })

  t.test('client stream with messages beyond all windows', async (t) => {
    const done = new Promise<Greeting | undefined>((resolve) => {
      const call = client.upload('Join', (_error, reply) => resolve(reply))
      call.write({ name: 'Ann' })
      call.write({ name: 'x'.repeat(5_000_000) })
      call.end({ name: 'Bob' })
    })
    t.strictSame(await done, { message: 'Ann,5000000,Bob' })
  })

  t.test('bidirectional stream with alternating messages', async (t) => {
    const call = client.stream('Chat')
    for (const name of ['Ann', 'Bob']) {
      call.write({ name })
      const [reply] = await once(call, 'data')
      t.strictSame(reply, { message: `Hello ${name}` })
    }
    call.end()
    const [status] = await once(call, 'status')
    t.equal(status.code, STATUS.OK)
  })
})

for (const [description, fields, code] of [
  ['101', [':status', '101'], STATUS.INTERNAL],
  ['a status beyond 599', [':status', '600'], STATUS.UNAVAILABLE],
  ['a length but no body', [...GRPC_HEAD, 'content-length', '5'], STATUS.INTERNAL],
  [
    'a control character in its type',
    [':status', '200', 'content-type', 'application/grpc\x7f'],
    STATUS.UNAVAILABLE,
  ],
  ['a control character in another value', [...GRPC_HEAD, 'x-a', 'a\x7fb'], STATUS.OK],
] as const) {
  t.test(
    `no invalid part of a backend response with ${description} reaches the client`,
    async (t) => {
      const backend = await openRawBackend(t)
      const gateway = await open(t, [backend.port])
      const client = new GrpcClient(t, gateway.port)
      const call = client.call('Context', 'a', { metadata: new grpc.Metadata() })
      const connection = await backend.connection()
      connection.send(toFrame(FRAME.SETTINGS, 0, 0))
      await connection.waitUntil(() => /\x01[\x04\x05]\0\0\0\x01/.test(connection.text))
      const trailers = fields.length > 4 ? ['grpc-status', '0'] : []
      connection.send(
        toFrame(FRAME.HEADERS, END_STREAM | END_HEADERS, 1, toBlock([...fields, ...trailers])),
      )
      const { status, head } = await call
      t.equal(status.code, code)
      t.notMatch(JSON.stringify([head?.getMap(), status.metadata.getMap()]), /x-a/)
    },
  )
}

t.test('a cancelled call is cancelled at the backend', async (t) => {
  const backend = await openGrpcBackend(t)
  const gateway = await open(t, [backend.port])
  const client = new GrpcClient(t, gateway.port)
  const call = client.stream('Chat')
  call.on('error', () => {})
  call.write({ name: 'Ann' })
  await once(call, 'data')
  call.cancel()
  await waitUntil(() => backend.cancelled.includes('Chat'))
  await waitUntil(() => gateway.gateway.inFlight === 0)
  const [node] = (await gateway.directory.find(NAME))!.nodes
  t.equal(node!.active, 0)
})

t.test(
  'a call past its deadline fails with DEADLINE_EXCEEDED and is cancelled at the backend',
  async (t) => {
    const backend = await openGrpcBackend(t)
    const gateway = await open(t, [backend.port])
    const client = new GrpcClient(t, gateway.port)
    // Opens the connections. On a slow machine, this may exceed the deadline, and the backend would receive no call.
    await client.call('SayHello', 'a')
    const { status } = await client.call('Wait', 'a', { options: { deadline: Date.now() + 500 } })
    t.equal(status.code, STATUS.DEADLINE_EXCEEDED)
    await waitUntil(() => backend.cancelled.includes('Wait'))
    await waitUntil(() => gateway.gateway.inFlight === 0)
  },
)

t.test('a slow reader pauses the backend, and memory stays bounded', async (t) => {
  const backend = await openGrpcBackend(t)
  const gateway = await open(t, [backend.port])
  const client = new GrpcClient(t, gateway.port)
  const call = client.stream('Flood', '100000')
  call.on('error', () => {})
  await once(call, 'data')
  call.pause()
  let before = -1
  await waitUntil(() => {
    const isStalled = backend.sent === before
    before = backend.sent
    return isStalled && before > 0
  })
  t.ok(backend.sent < 200, `at most the flow control windows: ${backend.sent} messages of 100 kB`)
  const stopped = backend.sent
  call.resume()
  await waitUntil(() => backend.sent > stopped + 100)
  call.cancel()
  await waitUntil(() => gateway.gateway.inFlight === 0)
})

t.test('unread responses beyond the memory limit are ended', async (t) => {
  const { maxBytes } = replyMemory
  t.teardown(() => {
    replyMemory.maxBytes = maxBytes
  })
  // Room for two responses.
  replyMemory.maxBytes = 4 * STREAM_WINDOW_BYTES
  const backend = await openGrpcBackend(t)
  const gateway = await open(t, [backend.port])
  for (const count of [1, 2, 3]) {
    const call = new GrpcClient(t, gateway.port).stream('Flood', '100000')
    call.on('error', () => {})
    await once(call, 'data')
    call.pause()
    await waitUntil(() => replyMemory.usedBytes === Math.min(count, 2) * STREAM_WINDOW_BYTES)
  }
  await waitUntil(() => gateway.gateway.inFlight === 2)
  const { status } = await new GrpcClient(t, gateway.port).call('SayHello', 'Ann')
  t.equal(status.code, STATUS.OK, 'another call succeeds')
  for (const x of gateway.exchanges) x.abortWith(new GatewayError('', 503, 'end'))
  await waitUntil(() => gateway.gateway.inFlight === 0)
  t.equal(replyMemory.usedBytes, 0, 'all memory is released')
})

t.test(
  'request copies for retries count as buffered and are dropped at half of max_buffered',
  async (t) => {
    const { maxBytes } = bodyMemory
    t.teardown(() => {
      bodyMemory.maxBytes = maxBytes
    })
    bodyMemory.maxBytes = 400_000
    const backend = await openGrpcBackend(t)
    const gateway = await open(t, [backend.port])
    const client = new GrpcClient(t, gateway.port)
    await client.call('SayHello', 'Ann')
    const calls = []
    for (let count = 1; count <= 8; count++) {
      const call = client.upload('Join', () => {})
      call.on('error', () => {})
      call.write({ name: 'x'.repeat(40_000) })
      calls.push(call)
      await waitUntil(() => (gateway.exchanges[count]?.bytesIn ?? 0) > 40_000)
    }
    await waitUntil(() => bodyMemory.usedBytes <= 260_000)
    t.ok(bodyMemory.usedBytes > 160_000, `copies count: ${bodyMemory.usedBytes} bytes`)
    t.equal(gateway.gateway.inFlight, 8, 'no call is ended')
    for (const call of calls) call.cancel()
    await waitUntil(() => gateway.gateway.inFlight === 0)
    t.equal(bodyMemory.usedBytes, 0)
  },
)

t.test('bytes of a paused body that the listener buffers count as buffered', async (t) => {
  const backend = createServer()
  backend.on('stream', (stream) => stream.pause().on('error', () => {}))
  const port = await listen(t, backend)
  const gateway = await open(t, [port])
  const client = connect(`http://127.0.0.1:${gateway.port}`)
  client.on('error', () => {})
  const upload = client.request({
    ...{ ':method': 'POST', ':path': '/helloworld.Greeter/Join', te: 'trailers' },
    'content-type': 'application/grpc',
  })
  upload.on('error', () => {})
  upload.write(Buffer.alloc(1_000_000))
  // The window of the stream, in addition to the bytes pending in the connection to the backend.
  await waitUntil(() => bodyMemory.usedBytes > 200_000)
  t.ok(bodyMemory.usedBytes < 400_000, `${bodyMemory.usedBytes} bytes`)
  client.destroy()
  await waitUntil(() => gateway.gateway.inFlight === 0)
  t.equal(bodyMemory.usedBytes, 0)
})

t.test('calls are balanced between nodes and skip an unreachable one', async (t) => {
  const backends = [await openGrpcBackend(t), await openGrpcBackend(t)]
  const gateway = await open(
    t,
    backends.map(({ port }) => port),
  )
  const client = new GrpcClient(t, gateway.port)
  for (let i = 0; i < 10; i++) await client.call('SayHello', 'Ann')
  t.strictSame(
    backends.map(({ calls }) => calls.length),
    [5, 5],
  )
  backends[0]!.kill()
  const codes = []
  for (let i = 0; i < 10; i++) codes.push((await client.call('SayHello', 'Ann')).status.code)
  t.strictSame(
    codes,
    Array.from({ length: 10 }, () => STATUS.OK),
  )
  t.equal(backends[1]!.calls.length, 15)
  t.strictSame(gateway.ejected, [`127.0.0.1:${backends[0]!.port}`])
})

t.test(
  'calls on a lost backend connection end with UNAVAILABLE, after the messages received',
  async (t) => {
    const backend = await openGrpcBackend(t)
    const relay = await openRelay(t, backend.port)
    const gateway = await open(t, [relay.port])
    const client = new GrpcClient(t, gateway.port)
    const pending = client.call('Wait', 'a')
    const chat = client.stream('Chat')
    chat.write({ name: 'Ann' })
    const [reply] = await once(chat, 'data')
    await waitUntil(() => backend.calls.length === 2)
    const ended = getStatus(chat)
    relay.cut()
    t.equal((await pending).status.code, STATUS.UNAVAILABLE)
    t.strictSame(reply, { message: 'Hello Ann' })
    const status = await ended
    t.equal(status.code, STATUS.UNAVAILABLE)
    t.match(status.details, /closed the connection/)
    t.equal((await client.call('SayHello', 'a')).status.code, STATUS.UNAVAILABLE)
  },
)

t.test(
  'a backend that sends GOAWAY finishes its calls, and new calls go to its successor',
  async (t) => {
    const backend = await openGrpcBackend(t)
    const gateway = await open(t, [backend.port])
    const client = new GrpcClient(t, gateway.port)
    const chat = client.stream('Chat')
    chat.write({ name: 'Ann' })
    await once(chat, 'data')
    const shutdown = new Promise((resolve) => backend.server.tryShutdown(resolve))
    const successor = await openGrpcBackend(t)
    await gateway.registry.register!(
      makeService(NAME, [makeNode(`127.0.0.1:${successor.port}`, { protocol: 'grpc' })]),
    )
    const codes = new Set<number>()
    for (let i = 0; i < 20; i++) codes.add((await client.call('SayHello', 'Bob')).status.code)
    t.strictSame([...codes], [STATUS.OK])
    chat.write({ name: 'Cid' })
    t.strictSame((await once(chat, 'data'))[0], { message: 'Hello Cid' })
    chat.end()
    t.equal((await once(chat, 'status'))[0].code, STATUS.OK)
    await shutdown
  },
)

t.test('connections that reach their maximum age are replaced without losing a call', async (t) => {
  const backend = await openGrpcBackend(t, {
    options: { 'grpc.max_connection_age_ms': 250, 'grpc.max_connection_age_grace_ms': 10_000 },
  })
  const gateway = await open(t, [backend.port])
  const client = new GrpcClient(t, gateway.port)
  const codes: number[] = []
  const startMs = Date.now()
  while (Date.now() - startMs < 1500) {
    const calls = Array.from({ length: 10 }, () => client.call('SayHello', 'Bob'))
    for (const { status } of await Promise.all(calls)) codes.push(status.code)
  }
  t.strictSame([...new Set(codes)], [STATUS.OK], `${codes.length} calls`)
})

t.test(
  'a connection that reaches its maximum age is closed although it was just used',
  async (t) => {
    const backend = await openGrpcBackend(t)
    const createHttp2Pool = (address: PoolAddress): Http2Pool =>
      new Http2Pool({ ...address, ...SHORT_TIMEOUTS, keepAliveMs: 10 * 60_000, maxAgeMs: 1 })
    const gateway = await open(t, [backend.port], { upstream: { createHttp2Pool } })
    const client = new GrpcClient(t, gateway.port)
    t.equal((await client.call('SayHello', 'Bob')).status.code, STATUS.OK)
    const [node] = (await gateway.directory.find(NAME))!.nodes
    await waitUntil(() => node!.http2!.size === 0)
  },
)

t.test('calls beyond the stream limit of a connection use additional connections', async (t) => {
  const backend = await openGrpcBackend(t, { options: { 'grpc.max_concurrent_streams': 5 } })
  const gateway = await open(t, [backend.port])
  const client = new GrpcClient(t, gateway.port)
  const chats = Array.from({ length: 22 }, () => client.stream('Chat'))
  for (const chat of chats) chat.write({ name: 'Ann' })
  const replies = await Promise.all(chats.map((chat) => once(chat, 'data')))
  t.equal(replies.length, 22)
  const [node] = (await gateway.directory.find(NAME))!.nodes
  t.equal(node!.http2!.size, 5)
  for (const chat of chats) chat.end()
  await Promise.all(chats.map((chat) => once(chat, 'status')))
})

t.test('a draining gateway finishes open calls', async (t) => {
  const backend = await openGrpcBackend(t)
  const gateway = await open(t, [backend.port])
  const client = new GrpcClient(t, gateway.port)
  const chat = client.stream('Chat')
  chat.write({ name: 'Ann' })
  await once(chat, 'data')
  gateway.listener.drain()
  chat.write({ name: 'Bob' })
  t.strictSame((await once(chat, 'data'))[0], { message: 'Hello Bob' })
  chat.end()
  t.equal((await once(chat, 'status'))[0].code, STATUS.OK)
})

t.test('error responses of the gateway have a gRPC status', async (t) => {
  const http = await openRawBackend(t, { onRequest: (connection) => connection.reply() })
  const silent = await openRawBackend(t)
  const limits: Plugin = {
    name: 'limits',
    onRequest: ({ headers }) => {
      const code = headers.get('x-fail')
      if (code === undefined) return
      throw new GatewayError('limits', Number(code), `as % asked`, {
        headers: ['retry-after', '7'],
      })
    },
  }
  const gateway = await open(t, [], {
    plugins: [limits],
    flags: ['--connect_timeout=300ms', '--reply_timeout=300ms'],
  })
  const register = (name: string, port: number, protocol = 'grpc') =>
    gateway.registry.register!(
      makeService(`go.mx.api.${name}`, [makeNode(`127.0.0.1:${port}`, { protocol })]),
    )
  await register('none', 1)
  await register('http', http.port)
  await register('silent', silent.port)
  const call = (service: string, metadata = new grpc.Metadata(), method = 'SayHello') =>
    new GrpcClient(t, gateway.port, service).call(method, 'a', { metadata })
  const rows: [string, number, RegExp][] = [
    ['unknown.Greeter', STATUS.NOT_FOUND, /^service not found: go\.mx\.api\.unknown$/],
    ['none.Greeter', STATUS.UNAVAILABLE, /^bad gateway: the backend refused the connection$/],
    ['http.Greeter', STATUS.UNAVAILABLE, /^bad gateway: the backend does not speak HTTP\/2$/],
    [
      'silent.Greeter',
      STATUS.UNAVAILABLE,
      /^bad gateway: the backend did not accept a connection in time$/,
    ],
  ]
  for (const [service, code, details] of rows) {
    const { status } = await call(service)
    t.equal(status.code, code, service)
    t.match(status.details, details, service)
  }
  const codes: [number, number][] = [
    [401, STATUS.UNAUTHENTICATED],
    [403, STATUS.PERMISSION_DENIED],
    [409, STATUS.ALREADY_EXISTS],
    [429, STATUS.RESOURCE_EXHAUSTED],
    [503, STATUS.UNAVAILABLE],
  ]
  for (const [code, expected] of codes) {
    const metadata = new grpc.Metadata()
    metadata.set('x-fail', `${code}`)
    const { status } = await call('none.Greeter', metadata)
    t.equal(status.code, expected, `${code}`)
    t.equal(status.details, 'as % asked')
    t.strictSame(status.metadata.get('retry-after'), ['7'])
  }
})

t.test(
  'a backend without a response within reply_timeout fails with DEADLINE_EXCEEDED',
  async (t) => {
    const backend = await openGrpcBackend(t)
    const gateway = await open(t, [], {
      upstream: { createHttp2Pool: (address) => new Http2Pool({ ...address, ...SHORT_TIMEOUTS }) },
    })
    await gateway.registry.register!(
      makeService(NAME, [makeNode(`127.0.0.1:${backend.port}`, { protocol: 'grpc' })]),
    )
    const client = new GrpcClient(t, gateway.port)
    const { status } = await client.call('Wait', 'a')
    t.equal(status.code, STATUS.DEADLINE_EXCEEDED)
    t.equal(status.details, 'the backend did not respond in time')
    await waitUntil(() => backend.cancelled.includes('Wait'))
  },
)

t.test('a TLS backend is reached over HTTP/2 by ALPN', async (t) => {
  const { cert, key } = createCertificate(['localhost'])
  const credentials = grpc.ServerCredentials.createSsl(null, [
    { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) },
  ])
  const backend = await openGrpcBackend(t, { credentials })
  const gateway = await open(t, [], {
    upstream: {
      createHttp2Pool: (address) =>
        new Http2Pool({
          ...address,
          tls: createUpstreamTls({ ca: cert }),
          timeouts: { connectMs: 5000, replyMs: 5000, idleMs: 5000 },
          keepAliveMs: 1000,
          maxConnections: 10,
          maxWaiting: 10,
        }),
    },
  })
  await gateway.registry.register!(
    makeService(NAME, [makeNode(`localhost:${backend.port}`, { protocol: 'grpcs' })]),
  )
  const { message } = await new GrpcClient(t, gateway.port).call('SayHello', 'Ann')
  t.equal(message, 'Hello Ann')
})

t.test('a retry on a TLS node uses the https scheme', async (t) => {
  const { cert, key } = createCertificate(['localhost'])
  const schemes: unknown[] = []
  const backend = createSecureServer({ cert, key })
  await listen(t, backend)
  backend.on('stream', (stream, headers) => {
    schemes.push(headers[':scheme'])
    stream.respond({ 'content-type': 'application/grpc', 'grpc-status': '5' }, { endStream: true })
  })
  const timeouts = { connectMs: 5000, replyMs: 5000, idleMs: 5000 }
  const limits = { keepAliveMs: 1000, maxConnections: 10, maxWaiting: 10 }
  const gateway = await open(t, [], {
    upstream: {
      createHttp2Pool: (address) =>
        new Http2Pool({ ...address, tls: createUpstreamTls({ ca: cert }), timeouts, ...limits }),
    },
  })
  let rejected = 0
  const full = createServer()
  await listen(t, full)
  full.on('stream', (stream) => {
    rejected++
    stream.on('error', () => {}).close(constants.NGHTTP2_REFUSED_STREAM)
  })
  const getPort = (server: { address: () => unknown }) => (server.address() as AddressInfo).port
  const nodes = [
    makeNode(`127.0.0.1:${getPort(full)}`, { protocol: 'grpc' }),
    makeNode(`localhost:${getPort(backend)}`, { protocol: 'grpcs' }),
  ]
  await gateway.registry.register!(makeService(NAME, nodes))
  const client = new GrpcClient(t, gateway.port)
  for (let i = 0; i < 2; i++) await client.call('SayHello', 'Ann')
  t.ok(rejected > 0, 'at least one call was retried')
  t.strictSame(schemes, ['https', 'https'])
})

/** An HTTP/2 backend that reads a piece of each request, and then calls `onPiece`. */
async function openReader(
  t: Test,
  onPiece: (stream: ServerHttp2Stream) => void,
): Promise<{ readonly port: number }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.on('session', (session) => t.teardown(() => session.destroy()))
  t.teardown(() => server.close())
  server.on('stream', (stream) => {
    stream.on('error', () => {})
    stream.on('data', () => onPiece(stream))
    stream.on('end', () => {
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '5' },
        { endStream: true },
      )
    })
  })
  return server.address() as AddressInfo
}

const LONG = 'x'.repeat(512 * 1024)

t.test('reply_timeout starts with the last byte that a slow backend reads', async (t) => {
  const { port } = await openReader(t, (stream) => {
    stream.pause()
    setTimeout(() => stream.resume(), 10)
  })
  // The default listener receives the complete request long before the backend.
  const gateway = await open(t, [port], {
    flags: ['--reply_timeout=100ms'],
    listener: createUwsListener,
    listening: {},
  })
  const startMs = performance.now()
  const reply = await fetch(`${gateway.origin}/helloworld/Greeter/SayHello`, {
    method: 'POST',
    headers: { 'content-type': 'application/grpc-web+proto' },
    body: LONG,
  })
  t.match(await reply.text(), /grpc-status: ?5/)
  t.ok(performance.now() - startMs > 200, 'longer than the reply timeout')
})

t.test(
  'a backend that stops reading a request fails with DEADLINE_EXCEEDED after idle_timeout',
  async (t) => {
    const { port } = await openReader(t, (stream) => stream.pause())
    const gateway = await open(t, [port], { flags: ['--idle_timeout=300ms'] })
    const { status } = await new GrpcClient(t, gateway.port).call('SayHello', LONG)
    t.equal(status.code, STATUS.DEADLINE_EXCEEDED)
  },
)

t.test('calls are counted by their gRPC status, and each attempt is a span', async (t) => {
  const backend = await openGrpcBackend(t)
  const events: string[] = []
  const tracer: Tracer = {
    start: (name, { kind, parent }) => {
      const spanId = `${events.length + 1}`.padStart(16, '0')
      const traceId = parent?.traceId ?? 'a'.repeat(32)
      events.push(`${kind} ${name}`)
      return {
        ...{
          traceId,
          spanId,
          isSampled: true,
          tracestate: '',
          isRemote: false,
          isRecording: true,
        },
        traceparent: `00-${traceId}-${spanId}-01`,
        rename: () => {},
        set: () => {},
        fail: (type) => events.push(`${kind} failed: ${type}`),
        end: () => events.push(`${kind} ends`),
      }
    },
  }
  const metrics = new RequestMetrics()
  const tracing: Plugin = {
    name: 'test-tracing',
    onRequest(x) {
      x.trace = new ExchangeTrace(tracer, x, {})
      x.headers.set('traceparent', x.trace.traceparent)
    },
    onDone(x) {
      x.trace!.end(x)
      metrics.count(x)
    },
  }
  const gateway = await open(t, [backend.port], { plugins: [tracing] })
  const client = new GrpcClient(t, gateway.port)
  await client.call('Context', 'a')
  await waitUntil(() => events.length === 4)
  t.strictSame(events.splice(0), ['server POST', 'client POST', 'client ends', 'server ends'])
  t.strictSame(backend.calls[0]!.metadata.get('traceparent'), [
    `00-${'a'.repeat(32)}-0000000000000002-01`,
  ])
  t.equal(gateway.exchanges[0]!.upstream!.nodes[0]!.connections, 1)

  await client.call('Fail', `${STATUS.INTERNAL}`)
  await waitUntil(() => events.length === 6)
  t.strictSame(events.splice(0), [
    ...['server POST', 'client POST', 'client failed: 13', 'client ends'],
    ...['server failed: 13', 'server ends'],
  ])
  await client.call('Fail', `${STATUS.NOT_FOUND}`)
  await waitUntil(() => events.length === 5)
  t.notOk(events.includes('server failed: 5'), "the error is the client's fault")
  t.strictSame([...metrics.byClass.subarray(2, 6)], [1, 0, 1, 1])
})
