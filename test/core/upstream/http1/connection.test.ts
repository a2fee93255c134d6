import t, { type Test } from 'tap'
import type { UpstreamCall } from '../../../../core/upstream/call.ts'
import { Http1Connection } from '../../../../core/upstream/http1/connection.ts'
import type { Http1Options } from '../../../../core/upstream/http1/connection-options.ts'
import { HeadMemory } from '../../../../core/upstream/http1/reply-head-cache.ts'
import { createUpstreamTls } from '../../../../core/upstream/tls.ts'
import { clock } from '../../../../lib/time/coarse-clock.ts'
import { createCertificate } from '../../../fixtures/certificates.ts'
import { Collector } from '../../../fixtures/collector.ts'
import { openRawBackend, type RawBackend, tick, waitUntil } from '../../../fixtures/raw-backend.ts'

const SECOND = 1000

/** Opens a connection and records the events of its owner. */
function open(port: number, options: Partial<Http1Options> = {}) {
  const events = { idle: 0, closed: 0, unsent: [] as UpstreamCall[] }
  const connection = new Http1Connection(
    {
      host: '127.0.0.1',
      port,
      secure: false,
      timeouts: { connectMs: 5 * SECOND, replyMs: 10 * SECOND, idleMs: 20 * SECOND },
      keepAliveMs: 30 * SECOND,
      ...options,
    },
    {
      memory: new HeadMemory(),
      onIdle: () => events.idle++,
      onClosed: () => events.closed++,
      onIdleClose: () => {},
      onUnsent: (call) => events.unsent.push(call),
    },
  )
  t.teardown(() => connection.destroy())
  return { connection, events }
}

/** Opens a backend with or without TLS, and returns the options of a connection to it. */
async function openMaybeSecure(
  t: Test,
  secure: boolean,
  options: Parameters<typeof openRawBackend>[1] = {},
): Promise<{ readonly backend: RawBackend; readonly options: Partial<Http1Options> }> {
  if (!secure) return { backend: await openRawBackend(t, options), options: {} }
  const certificate = createCertificate(['localhost'])
  const backend = await openRawBackend(t, { ...options, certificate })
  return {
    backend,
    options: { host: 'localhost', secure, tls: createUpstreamTls({ ca: certificate.cert }) },
  }
}

/** Runs a sweep with the clock advanced by `ms`, then resets the clock to real time. */
function pass(ms: number, connection: Http1Connection): void {
  clock.nowMs = performance.now() + ms
  connection.sweep()
  clock.nowMs = performance.now()
}

async function exchange(backend: RawBackend, connection: Http1Connection, nth = 1): Promise<void> {
  const call = new Collector()
  connection.send(call)
  const server = await backend.connection()
  await server.request(nth)
  server.reply()
  await call.done
}

t.test('a request is sent unchanged, and its response is read', async (t) => {
  const backend = await openRawBackend(t)
  const { connection, events } = open(backend.port)
  const call = new Collector({ head: 'GET /a?b HTTP/1.1\r\nhost: x\r\nx-a: \xe4\r\n\r\n' })
  connection.send(call)
  const server = await backend.connection()
  await server.request()
  t.equal(server.text, 'GET /a?b HTTP/1.1\r\nhost: x\r\nx-a: \xe4\r\n\r\n')
  server.reply('hello', '201 Created', 'X-B: 1')
  await call.done
  t.strictSame(call.events, ['reply'])
  t.equal(call.status, 201)
  t.equal(call.body, 'hello')
  t.strictSame(call.headers, ['x-b', '1'])
  t.equal(connection.served, 1)
  t.equal(events.idle, 1)
})

t.test(
  'rejects a 101, and informational responses with a body or without an end, as malformed',
  async (t) => {
    const early = 'HTTP/1.1 103 Early Hints\r\n\r\n'
    const rows: [string, string | undefined][] = [
      ['HTTP/1.1 101 Switching Protocols\r\n\r\n', 'unexpected 101 response'],
      [
        'HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
        'unexpected 101 response',
      ],
      ['HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nHTTP/', 'unexpected 100 response'],
      ['HTTP/1.1 103 x\r\nTransfer-Encoding: chunked\r\n\r\n', 'unexpected 103 response'],
      [early.repeat(17), 'unexpected 103 response'],
      [early.repeat(16), undefined],
    ]
    for (const [text, detail] of rows) {
      const backend = await openRawBackend(t)
      const { connection } = open(backend.port)
      const call = new Collector()
      connection.send(call)
      const server = await backend.connection()
      await server.request()
      server.send(text).reply()
      await call.done
      if (detail === undefined) t.equal(call.status, 200)
      else t.match(call.failure, { kind: 'malformed', detail }, text)
    }
  },
)

t.test(
  'pipelined requests of one tick are written immediately, and their responses arrive in order',
  async (t) => {
    const backend = await openRawBackend(t)
    const { connection } = open(backend.port)
    await exchange(backend, connection)
    const server = await backend.connection()
    const reads = server.reads
    const calls = ['/1', '/2', '/3'].map((path) => new Collector({ path }))
    for (const call of calls) connection.send(call)
    t.equal(connection.load, 3)
    await server.request(4)
    t.equal(server.reads, reads + 1)
    t.match(server.text, /GET \/1 .*GET \/2 .*GET \/3 /s)
    server.send(
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n2\r\n0\r\n\r\nHTTP/1.1 20',
    )
    await calls[1]!.done
    server.send('0 OK\r\nContent-Length: 1\r\n\r\n3')
    await calls[2]!.done
    t.strictSame(
      calls.map(({ body }) => body),
      ['1', '2', '3'],
    )
  },
)

t.test('a lost connection fails its pending calls as closed', async (t) => {
  const backend = await openRawBackend(t)
  const { connection, events } = open(backend.port)
  const calls = [new Collector(), new Collector(), new Collector()]
  for (const call of calls) connection.send(call)
  const server = await backend.connection()
  await server.request(3)
  server.reply('first')
  await calls[0]!.done
  server.send('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
  await calls[1]!.waitUntil(() => calls[1]!.body === 'half')
  t.equal(connection.replying, true)
  server.socket.destroy()
  await calls[2]!.done
  t.equal(calls[0]!.complete, true)
  t.equal(calls[1]!.failure?.kind, 'closed')
  t.equal(calls[2]!.failure?.kind, 'closed')
  t.equal(connection.replying, false, 'no response to the last call has started')
  t.equal(connection.closed, true)
  t.strictSame(events, { idle: 1, closed: 1, unsent: [] })
})

t.test('a response with Connection: close fails the pipelined calls after it', async (t) => {
  const backend = await openRawBackend(t)
  const { connection } = open(backend.port)
  const calls = [new Collector(), new Collector()]
  for (const call of calls) connection.send(call)
  const server = await backend.connection()
  await server.request(2)
  server.reply('last', '200 OK', 'Connection: close')
  await calls[1]!.done
  t.equal(calls[0]!.body, 'last')
  t.equal(calls[1]!.failure?.kind, 'closed')
  await server.ended()
})

t.test('cancelling the only call closes the connection', async (t) => {
  const backend = await openRawBackend(t)
  const { connection, events } = open(backend.port)
  const call = new Collector()
  connection.send(call)
  const server = await backend.connection()
  await server.request()
  connection.cancel(call)
  await server.ended()
  t.equal(events.closed, 1)
  t.strictSame(call.events, [])
})

t.test(
  'the response of a cancelled pipelined call is discarded, other calls complete',
  async (t) => {
    const backend = await openRawBackend(t)
    const { connection } = open(backend.port)
    const calls = [1, 2, 3].map(() => new Collector({ onChunk: () => false }))
    for (const call of calls) connection.send(call)
    const server = await backend.connection()
    await server.request(3)
    server.send('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf')
    await calls[0]!.waitUntil(() => calls[0]!.body === 'half')
    connection.cancel(calls[1]!)
    connection.cancel(calls[0]!)
    server.send('rest').reply('second').reply('third')
    await calls[2]!.done
    t.equal(calls[0]!.body, 'half', 'no more data for the cancelled call')
    t.strictSame(calls[1]!.events, [])
    t.equal(calls[2]!.body, 'third')
    t.equal(connection.closed, false)
  },
)

t.test('a response too large to discard closes the connection', async (t) => {
  const backend = await openRawBackend(t)
  const { connection } = open(backend.port)
  const calls = [new Collector(), new Collector()]
  for (const call of calls) connection.send(call)
  const server = await backend.connection()
  await server.request(2)
  connection.cancel(calls[0]!)
  server.send('HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n').send(Buffer.alloc(1_000_000))
  await calls[1]!.done
  t.equal(calls[1]!.failure?.kind, 'closed')
  t.equal(connection.closed, true)
})

t.test('a slow reader pauses the backend and receives all bytes later', async (t) => {
  const backend = await openRawBackend(t)
  const { connection } = open(backend.port)
  let slow = true
  const call = new Collector({ onChunk: () => !slow })
  connection.send(call)
  const server = await backend.connection()
  await server.request()
  const body = Buffer.alloc(16 * 1024 * 1024, 'abcdefg')
  server.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`).send(body)
  await call.waitUntil(() => call.chunks.length > 0)
  for (let i = 0; i < 20; i++) await tick()
  t.ok(call.body.length <= 256 * 1024, `${call.body.length} bytes delivered`)
  t.ok(server.socket.writableLength > 0, 'the rest is buffered at the backend')
  pass(100 * SECOND, connection)
  t.equal(call.failure, undefined, 'no timeout while the reader is paused')
  slow = false
  connection.resume()
  await call.done
  t.ok(Buffer.concat(call.chunks).equals(body))
  t.equal(connection.closed, false)
})

for (const [framing, reply] of [
  ['a body with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n'],
  ['a chunked body', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
] as const) {
  t.test(
    `a reader that pauses at the last chunk of ${framing} does not block the next request`,
    async (t) => {
      const backend = await openRawBackend(t)
      const { connection } = open(backend.port)
      const slow = new Collector({ onChunk: () => false })
      connection.send(slow)
      const server = await backend.connection()
      await server.request()
      server.send(reply)
      await slow.waitUntil(() => slow.events.includes('head'))
      server.send(framing === 'a chunked body' ? '4\r\nbody\r\n0\r\n\r\n' : 'body')
      await slow.done
      const next = new Collector()
      connection.send(next)
      await server.request(2)
      server.reply('next')
      await next.done
      t.equal(next.body, 'next')
    },
  )
}

t.test('a body of known length is sent unchanged after the head', async (t) => {
  const backend = await openRawBackend(t)
  const { connection } = open(backend.port)
  const call = new Collector({
    method: 'POST',
    bodyLength: 10,
    onReady: () => {
      connection.sendBody(Buffer.from('01234'), false)
      connection.sendBody(Buffer.from('56789'), true)
    },
  })
  connection.send(call)
  const server = await backend.connection()
  await server.waitUntil(() => server.text.endsWith('9'))
  t.match(server.text, /content-length: 10\r\n\r\n0123456789$/)
  server.reply()
  await call.done
  t.equal(connection.closed, false)
})

t.test('a body of unknown length is sent chunked', async (t) => {
  const backend = await openRawBackend(t)
  const { connection } = open(backend.port)
  const call = new Collector({
    method: 'POST',
    bodyLength: -1,
    onReady: () => {
      connection.sendBody(Buffer.from('hello'), false)
      connection.sendBody(Buffer.alloc(0), false)
      connection.sendBody(Buffer.alloc(20, 'x'), false)
      connection.sendBody(Buffer.alloc(0), true)
    },
  })
  connection.send(call)
  const server = await backend.connection()
  await server.waitUntil(() => server.text.endsWith('0\r\n\r\n'))
  t.match(server.text, /chunked\r\n\r\n5\r\nhello\r\n14\r\nx{20}\r\n0\r\n\r\n$/)
  server.reply()
  await call.done
  t.equal(connection.closed, false)
})

t.test('the last chunk ends a chunked body', async (t) => {
  const backend = await openRawBackend(t)
  const { connection } = open(backend.port)
  const call = new Collector({
    method: 'POST',
    bodyLength: -1,
    onReady: () => connection.sendBody(Buffer.from('all'), true),
  })
  connection.send(call)
  const server = await backend.connection()
  await server.waitUntil(() => server.text.endsWith('0\r\n\r\n'))
  t.match(server.text, /\r\n\r\n3\r\nall\r\n0\r\n\r\n$/)
})

t.test('the head is sent before a late body', async (t) => {
  const backend = await openRawBackend(t)
  const { connection } = open(backend.port)
  const call = new Collector({ method: 'PUT', bodyLength: 4 })
  connection.send(call)
  const server = await backend.connection()
  await server.request()
  t.match(server.text, /content-length: 4\r\n\r\n$/)
  connection.sendBody(Buffer.from('late'), true)
  await server.waitUntil(() => server.text.endsWith('late'))
  server.reply()
  await call.done
  t.equal(call.body, 'ok')
})

t.test('a backend that does not read causes back-pressure until it reads', async (t) => {
  const backend = await openRawBackend(t, { isKeptAlive: false })
  let drained = 0
  const { connection } = open(backend.port)
  const piece = Buffer.alloc(256 * 1024)
  const call = new Collector({ method: 'POST', bodyLength: -1, onBodyDrain: () => drained++ })
  connection.send(call)
  const server = await backend.connection()
  server.socket.pause()
  await tick()
  let sent = 1
  while (connection.sendBody(piece, false) && sent < 1000) sent++
  t.ok(sent < 1000, `${sent} chunks accepted`)
  t.equal(drained, 0)
  server.socket.resume()
  await waitUntil(() => drained > 0)
  t.equal(connection.closed, false)
})

t.test('a response before the end of the request closes the connection', async (t) => {
  for (const reply of [
    'HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno',
    'HTTP/1.1 413 Too Large\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n',
  ]) {
    const backend = await openRawBackend(t)
    const { connection, events } = open(backend.port)
    const call = new Collector({ method: 'POST', bodyLength: 1000 })
    connection.send(call)
    const server = await backend.connection()
    await server.request()
    connection.sendBody(Buffer.alloc(10), false)
    server.send(reply)
    await call.done
    t.equal(call.status, 413)
    t.equal(call.body, 'no')
    t.equal(connection.closed, true)
    t.equal(events.idle, 0)
    await server.ended()
    t.equal(connection.sendBody(Buffer.alloc(10), false), true, 'later body data is discarded')
  }
})

t.test('calls fail with connect if the backend refuses the connection', async (t) => {
  const backend = await openRawBackend(t)
  backend.close()
  const { connection, events } = open(backend.port)
  const calls = [new Collector(), new Collector()]
  for (const call of calls) connection.send(call)
  await calls[1]!.done
  t.match(calls[0]!.failure, { kind: 'connect', detail: /ECONNREFUSED/ })
  t.equal(calls[1]!.failure?.kind, 'connect')
  t.strictSame(events, { idle: 0, closed: 1, unsent: [] })
})

t.test(
  'calls fail with connect-timeout if the connection is not established in time',
  async (t) => {
    // Accepts connections, but never responds to the TLS handshake.
    const backend = await openRawBackend(t)
    const { connection } = open(backend.port, { secure: true })
    const calls = [new Collector(), new Collector()]
    for (const call of calls) connection.send(call)
    const server = await backend.connection()
    pass(4 * SECOND, connection)
    t.equal(connection.closed, false)
    pass(6 * SECOND, connection)
    t.equal(calls[0]!.failure?.kind, 'connect-timeout')
    t.equal(calls[1]!.failure?.kind, 'connect-timeout')
    await server.ended()
  },
)

t.test(
  'a response that does not start in time fails the call and closes the connection',
  async (t) => {
    const backend = await openRawBackend(t)
    const { connection } = open(backend.port)
    await exchange(backend, connection)
    const calls = [new Collector(), new Collector()]
    for (const call of calls) connection.send(call)
    const server = await backend.connection()
    await server.request(3)
    server.send('HTTP/1.1 200')
    await waitUntil(() => connection.replying)
    pass(9 * SECOND, connection)
    t.equal(connection.closed, false)
    pass(11 * SECOND, connection)
    t.equal(calls[0]!.failure?.kind, 'timeout')
    t.equal(calls[1]!.failure?.kind, 'closed')
    await server.ended()
  },
)

t.test('the reply timeout of a pipelined call starts when the connection is open', async (t) => {
  const backend = await openRawBackend(t)
  const timeouts = { connectMs: 20 * SECOND, replyMs: 10 * SECOND, idleMs: 20 * SECOND }
  const { connection } = open(backend.port, { timeouts })
  const calls = [new Collector(), new Collector()]
  for (const call of calls) connection.send(call)
  pass(15 * SECOND, connection)
  t.equal(calls[1]!.failure, undefined)
  const server = await backend.connection()
  await server.request(2)
  server.reply().reply()
  await calls[1]!.done
  t.equal(calls[1]!.status, 200)
})

t.test('the reply timeout of a pipelined call starts when its last byte is sent', async (t) => {
  const backend = await openRawBackend(t, { isKeptAlive: false })
  const { connection } = open(backend.port)
  const first = new Collector()
  connection.send(first)
  const server = await backend.connection()
  await waitUntil(() => server.received > 0)
  server.socket.pause()
  const head = `GET / HTTP/1.1\r\nx: ${'a'.repeat(1024 * 1024)}\r\n\r\n`
  const calls = Array.from({ length: 24 }, () => new Collector({ head }))
  for (const call of calls) connection.send(call)
  await waitUntil(() => connection.unsentBytes > 0)
  server.reply()
  await first.done
  pass(15 * SECOND, connection)
  t.equal(calls[0]!.failure, undefined, 'the current call has the idle timeout')
  t.equal(calls[1]!.failure, undefined)
  server.socket.resume()
  await waitUntil(() => connection.unsentBytes === 0)
  // The response to the current call is slow.
  server.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n')
  await waitUntil(() => calls[0]!.status === 200)
  connection.sweep()
  pass(9 * SECOND, connection)
  t.equal(calls[1]!.failure, undefined)
  pass(11 * SECOND, connection)
  t.equal(calls[1]!.failure?.kind, 'timeout')
  t.equal(calls[0]!.failure, undefined)
})

t.test('a response timeout does not fire early while the clock of deadlines is late', async (t) => {
  const backend = await openRawBackend(t)
  const timeouts = { connectMs: 20 * SECOND, replyMs: SECOND, idleMs: 20 * SECOND }
  const { connection } = open(backend.port, { timeouts })
  await exchange(backend, connection)
  const call = new Collector()
  clock.nowMs = performance.now() - 0.9 * SECOND
  connection.send(call)
  await (await backend.connection()).request(2)
  pass(0.5 * SECOND, connection)
  t.strictSame(call.events, [])
  pass(1.1 * SECOND, connection)
  t.match(call.failure, { kind: 'timeout' })
})

t.test('a response that stalls fails after the idle timeout', async (t) => {
  const backend = await openRawBackend(t)
  const { connection } = open(backend.port)
  const call = new Collector()
  connection.send(call)
  const server = await backend.connection()
  await server.request()
  server.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n')
  await call.waitUntil(() => call.body === 'a')
  pass(15 * SECOND, connection)
  t.equal(call.failure, undefined)
  pass(21 * SECOND, connection)
  t.equal(call.failure?.kind, 'timeout')
})

t.test('a patient call is not subject to the timeouts of the connection', async (t) => {
  const backend = await openRawBackend(t)
  const { connection } = open(backend.port)
  const call = new Collector({ isPatient: true })
  connection.send(call)
  const server = await backend.connection()
  await server.request()
  pass(1000 * SECOND, connection)
  server.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n')
  await call.waitUntil(() => call.body === 'a')
  pass(1000 * SECOND, connection)
  connection.pause()
  connection.resume()
  pass(1000 * SECOND, connection)
  t.equal(call.failure, undefined)
  server.send('0\r\n\r\n')
  await call.done
  t.equal(call.complete, true)
  const next = new Collector()
  connection.send(next)
  await server.request(2)
  pass(11 * SECOND, connection)
  t.equal(next.failure?.kind, 'timeout', 'the next call has a timeout again')
})

t.test('a request body in progress keeps the call alive', async (t) => {
  const backend = await openRawBackend(t)
  const { connection } = open(backend.port)
  const call = new Collector({ method: 'POST', bodyLength: 4 })
  connection.send(call)
  const server = await backend.connection()
  await server.request()
  connection.sendBody(Buffer.from('ab'), false)
  pass(15 * SECOND, connection)
  t.equal(call.failure, undefined, 'the idle timeout applies while the client sends')
  connection.sendBody(Buffer.from('cd'), true)
  pass(11 * SECOND, connection)
  t.equal(call.failure?.kind, 'timeout', 'the reply timeout applies after the request')
})

t.test(
  'an idle connection closes after keepAliveMs, or a second before the backend closes it',
  async (t) => {
    for (const [fields, idleSeconds] of [
      [[], 30],
      [['Keep-Alive: timeout=5, max=10'], 4],
      [['Keep-Alive: timeout=600'], 30],
    ] as const) {
      const backend = await openRawBackend(t)
      const { connection, events } = open(backend.port)
      const call = new Collector()
      connection.send(call)
      const server = await backend.connection()
      await server.request()
      server.reply('ok', '200 OK', ...fields)
      await call.done
      pass((idleSeconds - 1) * SECOND, connection)
      t.equal(connection.closed, false, `${fields}: open`)
      pass((idleSeconds + 1) * SECOND, connection)
      t.equal(connection.closed, true, `${fields}: closed`)
      t.equal(events.closed, 1)
      await server.ended()
    }
  },
)

t.test('data on an idle connection closes it', async (t) => {
  const backend = await openRawBackend(t)
  const { connection, events } = open(backend.port)
  await exchange(backend, connection)
  const server = await backend.connection()
  server.reply('poison')
  await server.ended()
  t.equal(connection.closed, true)
  t.equal(events.closed, 1)
})

t.test('data received before a request is written is not its response', async (t) => {
  const backend = await openRawBackend(t)
  const { connection, events } = open(backend.port)
  await exchange(backend, connection)
  const server = await backend.connection()
  await tick()
  // In this tick, the data is in transit, and the head is not written yet.
  server.reply('poison')
  const call = new Collector()
  connection.send(call)
  await server.ended()
  t.strictSame(call.events, ['unsent'])
  t.strictSame(events.unsent, [call], 'the call is returned for another connection')
  t.equal(call.connection, undefined)
  t.equal(server.requests, 1)
})

t.test(
  'a call is returned as unsent if its keep-alive connection closes before the request is written',
  async (t) => {
    for (const bodyLength of [0, 5]) {
      const backend = await openRawBackend(t)
      const { connection, events } = open(backend.port)
      await exchange(backend, connection)
      const server = await backend.connection()
      await tick()
      server.socket.destroy()
      const call = new Collector({ method: 'POST', bodyLength })
      connection.send(call)
      await waitUntil(() => connection.closed)
      t.strictSame(events.unsent, [call])
      t.strictSame(call.events, ['unsent'])
    }
  },
)

t.test('a cancelled call is not returned as unsent', async (t) => {
  const backend = await openRawBackend(t)
  const { connection, events } = open(backend.port)
  await exchange(backend, connection)
  const server = await backend.connection()
  await tick()
  server.socket.destroy()
  const calls = [new Collector(), new Collector()]
  for (const call of calls) connection.send(call)
  connection.cancel(calls[0]!)
  await waitUntil(() => connection.closed)
  t.strictSame(events.unsent, [calls[1]])
})

t.test('TLS connections send the server name and verify the certificate', async (t) => {
  const certificate = createCertificate(['localhost', '127.0.0.1'])
  const backend = await openRawBackend(t, {
    certificate,
    onRequest: (server) => server.reply('secret'),
  })
  const trusted = open(backend.port, {
    host: 'localhost',
    secure: true,
    tls: createUpstreamTls({ ca: certificate.cert }),
  })
  const call = new Collector()
  trusted.connection.send(call)
  await call.done
  t.equal(call.body, 'secret')
  const repeated = new Collector()
  trusted.connection.send(repeated)
  await repeated.done
  t.equal(repeated.body, 'secret')

  const untrusted = open(backend.port, {
    secure: true,
    tls: createUpstreamTls({ ca: createCertificate(['localhost']).cert }),
  })
  const rejected = new Collector()
  untrusted.connection.send(rejected)
  await rejected.done
  t.equal(rejected.failure?.kind, 'connect')

  const other = createCertificate(['elsewhere.test'])
  const wrongName = await openRawBackend(t, { certificate: other })
  const { connection } = open(wrongName.port, {
    host: 'localhost',
    secure: true,
    tls: createUpstreamTls({ ca: other.cert }),
  })
  const invalid = new Collector()
  connection.send(invalid)
  await invalid.done
  t.match(invalid.failure, { kind: 'connect', detail: /elsewhere\.test/ })
})

t.test('a long response over TLS pauses and resumes with its reader', async (t) => {
  const certificate = createCertificate(['localhost'])
  const backend = await openRawBackend(t, { certificate })
  const { connection } = open(backend.port, {
    host: 'localhost',
    secure: true,
    tls: createUpstreamTls({ ca: certificate.cert }),
  })
  let accepted = 0
  const call = new Collector({
    onChunk: () => {
      setImmediate(() => connection.resume())
      return ++accepted % 2 === 0
    },
  })
  connection.send(call)
  const server = await backend.connection()
  await server.request()
  const body = Buffer.alloc(5_000_000, 'abcdefg')
  server.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`).send(body)
  await call.done
  t.ok(Buffer.concat(call.chunks).equals(body))
})

for (const secure of [false, true])
  t.test(
    `the reply timeout starts when the last byte of the request is sent${secure ? ', over TLS' : ''}`,
    async (t) => {
      const { backend, options } = await openMaybeSecure(t, secure, { isKeptAlive: false })
      const realNow = performance.now.bind(performance)
      let offsetMs = 0
      performance.now = () => realNow() + offsetMs
      t.teardown(() => {
        performance.now = realNow
        clock.nowMs = performance.now()
      })
      const advance = (ms: number) => {
        offsetMs += ms
        clock.nowMs = performance.now()
        connection.sweep()
      }
      const { connection } = open(backend.port, options)
      const bytes = 24 * 1024 * 1024
      const piece = Buffer.alloc(256 * 1024)
      const call = new Collector({ method: 'POST', bodyLength: bytes })
      connection.send(call)
      const server = await backend.connection()
      server.socket.pause()
      await tick()
      for (let sent = 0; sent < bytes; sent += piece.length)
        connection.sendBody(piece, sent + piece.length === bytes)
      const before = connection.unsentBytes
      t.ok(before > 0)
      advance(15 * SECOND)
      t.equal(call.failure, undefined, 'beyond the reply timeout')
      server.socket.resume()
      await waitUntil(() => connection.unsentBytes < before)
      server.socket.pause()
      advance(15 * SECOND)
      t.equal(call.failure, undefined, 'beyond the idle timeout, which progress renews')
      server.socket.resume()
      await waitUntil(() => connection.unsentBytes === 0)
      connection.sweep()
      advance(9 * SECOND)
      t.equal(call.failure, undefined)
      advance(2 * SECOND)
      t.equal(call.failure?.kind, 'timeout', 'no response within the reply timeout')
    },
  )

t.test('the idle timeout applies when the backend stops reading the request', async (t) => {
  const backend = await openRawBackend(t, { isKeptAlive: false })
  const { connection } = open(backend.port)
  const bytes = 24 * 1024 * 1024
  const call = new Collector({ method: 'POST', bodyLength: bytes })
  connection.send(call)
  const server = await backend.connection()
  server.socket.pause()
  await tick()
  connection.sendBody(Buffer.alloc(bytes), true)
  pass(15 * SECOND, connection)
  t.equal(call.failure, undefined, 'beyond the reply timeout')
  // The kernel may still accept some data, which renews the timeout.
  let passedMs = 0
  await waitUntil(() => {
    passedMs += 21 * SECOND
    pass(passedMs, connection)
    return call.failure !== undefined
  })
  t.equal(call.failure?.kind, 'timeout')
})

for (const secure of [false, true])
  t.test(
    `a response sent before the request write fails is received${secure ? ', over TLS' : ''}`,
    async (t) => {
      const { backend, options } = await openMaybeSecure(t, secure)
      const { connection } = open(backend.port, options)
      const call = new Collector({ method: 'POST', bodyLength: 1_000_000 })
      connection.send(call)
      const server = await backend.connection()
      await server.request()
      server.socket.pause()
      await tick()
      connection.sendBody(Buffer.alloc(100_000), false)
      // The next write fails immediately, before the response is read.
      await waitUntil(() => connection.unsentBytes === 0)
      // A socket that is closed with unread data is reset.
      server.reply('no', '501 Not Implemented').socket.destroy()
      for (let sent = 1; sent < 10; sent++) connection.sendBody(Buffer.alloc(100_000), sent === 9)
      await call.done
      t.equal(call.status, 501)
      t.equal(call.body, 'no')
      t.equal(connection.closed, true)
    },
  )

t.test(
  'a call fails as closed if the connection is reset while the request is written',
  async (t) => {
    const backend = await openRawBackend(t)
    const { connection } = open(backend.port)
    const call = new Collector({ method: 'POST', bodyLength: 1_000_000 })
    connection.send(call)
    const server = await backend.connection()
    await server.request()
    server.socket.resetAndDestroy()
    for (let sent = 0; sent < 10; sent++) connection.sendBody(Buffer.alloc(100_000), sent === 9)
    await call.done
    t.equal(call.failure?.kind, 'closed')
  },
)
