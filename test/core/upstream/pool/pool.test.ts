import t from 'tap'
import { Pool, type PoolOptions } from '../../../../core/upstream/pool/pool.ts'
import { clock } from '../../../../lib/time/coarse-clock.ts'
import { Collector } from '../../../fixtures/collector.ts'
import { openRawBackend, tick, waitUntil } from '../../../fixtures/raw-backend.ts'

const SECOND = 1000

function openPool(port: number, options: Partial<PoolOptions> = {}): Pool {
  const pool = new Pool({
    host: '127.0.0.1',
    port,
    secure: false,
    timeouts: { connectMs: 5 * SECOND, replyMs: 10 * SECOND, idleMs: 20 * SECOND },
    keepAliveMs: 30 * SECOND,
    pipeline: 1,
    maxConnections: 2,
    maxWaiting: 2,
    ...options,
  })
  t.teardown(() => pool.close())
  return pool
}

function dispatch(pool: Pool, path = '/', method = 'GET'): Collector {
  const call = new Collector({ path, method, idempotent: method !== 'POST' })
  pool.dispatch(call)
  return call
}

function pass(ms: number, pool: Pool): void {
  clock.nowMs = performance.now() + ms
  pool.sweep()
  clock.nowMs = performance.now()
}

t.test('connections are reused, and the most recently used ones first', async (t) => {
  const backend = await openRawBackend(t, { onRequest: (server) => server.reply() })
  const pool = openPool(backend.port)
  const first = dispatch(pool)
  const second = dispatch(pool)
  await Promise.all([first.done, second.done])
  t.equal(pool.size, 2)
  const latest = (await Promise.race([first.done, second.done])).connection
  for (let i = 0; i < 5; i++) await dispatch(pool).done
  t.equal(pool.size, 2)
  t.equal(backend.connections.length, 2)
  const requests = backend.connections.map((server) => server.requests).sort()
  t.strictSame(requests, [1, 6])
  t.ok(latest)
})

t.test(
  'calls beyond maxConnections are queued in order, and calls beyond the queue fail as full',
  async (t) => {
    const backend = await openRawBackend(t)
    const pool = openPool(backend.port)
    const calls = ['/1', '/2', '/3', '/4', '/5'].map((path) => dispatch(pool, path))
    await calls[4]!.done
    t.match(calls[4]!.failure, {
      kind: 'full',
      detail: 'all 2 connections to the backend are busy',
    })
    t.equal(pool.size, 2)
    const first = await backend.connection(0)
    await first.request()
    first.reply('one')
    await first.request(2)
    t.match(first.text, /GET \/3 /)
    first.reply('three')
    await first.request(3)
    t.match(first.text, /GET \/4 /)
    first.reply('four')
    await calls[3]!.done
    t.strictSame(
      [0, 2, 3].map((i) => calls[i]!.body),
      ['one', 'three', 'four'],
    )
  },
)

t.test('a call queued for longer than the connect timeout fails as full', async (t) => {
  const backend = await openRawBackend(t)
  const pool = openPool(backend.port, { maxConnections: 1 })
  dispatch(pool)
  await (await backend.connection()).request()
  const waiting = dispatch(pool)
  pass(4 * SECOND, pool)
  t.equal(waiting.failure, undefined)
  pass(6 * SECOND, pool)
  t.equal(waiting.failure?.kind, 'full')
})

t.test('a call cancelled in the queue is never sent', async (t) => {
  const backend = await openRawBackend(t)
  const pool = openPool(backend.port, { maxConnections: 1 })
  const first = dispatch(pool, '/first')
  const remaining = dispatch(pool, '/remaining')
  const last = dispatch(pool, '/last')
  pool.cancel(remaining)
  const server = await backend.connection()
  await server.request()
  server.reply()
  await first.done
  await server.request(2)
  server.reply()
  await last.done
  t.notMatch(server.text, /remaining/)
  t.strictSame(remaining.events, [])
})

t.test('a lost connection is replaced for a queued call', async (t) => {
  const backend = await openRawBackend(t)
  const pool = openPool(backend.port, { maxConnections: 1 })
  const first = dispatch(pool)
  const second = dispatch(pool)
  const server = await backend.connection()
  await server.request()
  server.socket.destroy()
  await first.done
  t.equal(first.failure?.kind, 'closed')
  const next = await backend.connection(1)
  await next.request()
  next.reply('second')
  await second.done
  t.equal(second.body, 'second')
})

t.test('data after a response is not the response of a queued call', async (t) => {
  const backend = await openRawBackend(t)
  const pool = openPool(backend.port, { maxConnections: 1 })
  const first = dispatch(pool)
  const second = dispatch(pool)
  const server = await backend.connection()
  await server.request()
  server.send(
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison',
  )
  await first.done
  const next = await backend.connection(1)
  await next.request()
  next.reply('honest')
  await second.done
  t.equal(first.body, 'ok')
  t.equal(second.body, 'honest')
  await server.ended()
  t.equal(server.requests, 1)
})

t.test(
  'a call on a stale keep-alive connection is sent on another one, even if it is a POST',
  async (t) => {
    const backend = await openRawBackend(t)
    const pool = openPool(backend.port)
    const first = dispatch(pool)
    const server = await backend.connection()
    await server.request()
    server.reply()
    await first.done
    await tick()
    server.socket.destroy()
    const second = dispatch(pool, '/', 'POST')
    const next = await backend.connection(1)
    await next.request()
    next.reply('new')
    await second.done
    t.equal(second.body, 'new')
    t.equal(server.requests, 1)
  },
)

t.test('idle connections are closed by a timer', async (t) => {
  const backend = await openRawBackend(t, { onRequest: (server) => server.reply() })
  const pool = openPool(backend.port, { keepAliveMs: 1 })
  await dispatch(pool).done
  const server = await backend.connection()
  await server.ended()
  t.equal(pool.size, 0)
})

t.test(
  'a closed pool closes idle connections immediately, and others after their responses',
  async (t) => {
    const backend = await openRawBackend(t)
    const pool = openPool(backend.port)
    const unused = dispatch(pool)
    const running = dispatch(pool)
    await (await backend.connection(0)).request()
    await (await backend.connection(1)).request()
    backend.connections[0]!.reply()
    await Promise.race([unused.done, running.done])
    pool.close()
    await backend.connections[0]!.ended()
    t.equal(pool.size, 1)
    t.equal(backend.connections[1]!.closed, false)
    backend.connections[1]!.reply()
    await Promise.all([unused.done, running.done])
    t.ok(unused.complete && running.complete)
    await backend.connections[1]!.ended()
    t.equal(pool.size, 0)
  },
)

t.test('a closed pool completes queued calls and closes their connections', async (t) => {
  const backend = await openRawBackend(t, {
    onRequest: (server) => server.reply('late', '200 OK', 'Connection: close'),
  })
  const pool = openPool(backend.port, { maxConnections: 1 })
  const calls = [dispatch(pool), dispatch(pool), dispatch(pool)]
  pool.close()
  for (const call of calls) t.equal((await call.done).body, 'late')
  await waitUntil(() => pool.size === 0)
})

t.test('pipelined requests and connections are limited per node', async (t) => {
  const backend = await openRawBackend(t)
  const pool = openPool(backend.port, { pipeline: 3, maxConnections: 2, maxWaiting: 10 })
  const calls = Array.from({ length: 8 }, (_, i) => dispatch(pool, `/${i}`))
  const first = await backend.connection(0)
  const second = await backend.connection(1)
  await first.request(3)
  await second.request(3)
  await tick()
  t.equal(pool.size, 2)
  t.strictSame([first.requests, second.requests], [3, 3])
  first.reply('0')
  await first.request(4)
  t.match(first.text, /GET \/6 /)
  for (let i = 0; i < 3; i++) first.reply('x')
  await first.request(5)
  t.match(first.text, /GET \/7 /)
  first.reply('x')
  for (let i = 0; i < 3; i++) second.reply('y')
  await Promise.all(calls.map((call) => call.done))
  t.ok(calls.every((call) => call.complete))
  t.strictSame(calls[6]!.body, 'x')
})

t.test('a pipelined GET does not delay a queued POST that needs its own connection', async (t) => {
  const backend = await openRawBackend(t)
  const pool = openPool(backend.port, { pipeline: 4, maxConnections: 1, maxWaiting: 10 })
  dispatch(pool, '/1')
  const post = dispatch(pool, '/post', 'POST')
  const queued = dispatch(pool, '/behind')
  const server = await backend.connection()
  await server.request()
  await tick()
  t.equal(server.requests, 1, 'later calls are queued')
  server.reply()
  await server.request(2)
  t.match(server.text, /POST \/post /)
  await tick()
  t.equal(server.requests, 2, 'nothing is pipelined after a call that is not repeatable')
  server.reply('posted')
  await post.done
  await server.request(3)
  server.reply('behind')
  await queued.done
  t.equal(post.body, 'posted')
  t.equal(queued.body, 'behind')
  t.equal(pool.size, 1)
})

t.test('a connection alternates between exclusive and pipelined calls', async (t) => {
  const backend = await openRawBackend(t, { onRequest: (server) => server.reply() })
  const pool = openPool(backend.port, { pipeline: 4, maxConnections: 1 })
  for (const method of ['POST', 'GET', 'POST', 'POST', 'GET', 'GET']) {
    t.equal((await dispatch(pool, '/', method).done).complete, true)
  }
  t.equal(backend.connections.length, 1)
})

t.test('calls with a body are never pipelined', async (t) => {
  const backend = await openRawBackend(t)
  const pool = openPool(backend.port, { pipeline: 4, maxConnections: 2 })
  const calls = [1, 2].map(() => {
    const call = new Collector({
      method: 'PUT',
      bodyLength: 2,
      onReady: () => call.connection!.sendBody(Buffer.from('ab'), true),
    })
    pool.dispatch(call)
    return call
  })
  for (const i of [0, 1]) {
    const server = await backend.connection(i)
    await server.waitUntil(() => server.text.endsWith('ab'))
    server.reply()
  }
  await Promise.all(calls.map((call) => call.done))
  t.equal(backend.connections.length, 2)
})

t.test(
  'pools that share a budget do not exceed it, and idle connections are closed for other pools',
  async (t) => {
    const backend = await openRawBackend(t, { onRequest: (server) => server.reply() })
    const slow = await openRawBackend(t)
    const budget = { remaining: 2 }
    const one = openPool(backend.port, { budget })
    const other = openPool(slow.port, { budget })
    await Promise.all([dispatch(one).done, dispatch(one, '/2').done])
    t.equal(budget.remaining, 0)
    const pending = [dispatch(other), dispatch(other, '/2')]
    t.equal(one.size, 0, 'closed for the other pool')
    t.equal(other.size, 2)
    const waiting = dispatch(one)
    t.equal(one.size, 0)
    const servers = [await slow.connection(0), await slow.connection(1)]
    await waitUntil(() => servers.every((server) => server.requests === 1))
    servers[0]!.reply()
    await pending[0]!.done
    one.sweep()
    await waiting.done
    t.equal(waiting.status, 200)
    servers[1]!.reply()
    await pending[1]!.done
    one.close()
    other.close()
    t.equal(budget.remaining, 2)
  },
)

t.test(
  'calls are not pipelined after a streamed response if another connection can be opened',
  async (t) => {
    const backend = await openRawBackend(t)
    const pool = openPool(backend.port, { pipeline: 4, maxConnections: 2 })
    const stream = dispatch(pool, '/stream')
    const server = await backend.connection()
    await server.request()
    server.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n')
    await stream.waitUntil(() => stream.body === 'one')
    const quick = dispatch(pool, '/quick')
    const other = await backend.connection(1)
    await other.request()
    other.reply('quick')
    await quick.done
    t.equal(quick.body, 'quick')
    t.equal(stream.complete, false)
    server.send('0\r\n\r\n')
    await stream.done
    dispatch(pool, '/again')
    await Promise.race([server.request(2), other.request(2)])
  },
)

t.test(
  'calls pipelined after a streamed response time out, but the stream continues',
  async (t) => {
    const backend = await openRawBackend(t)
    const pool = openPool(backend.port, { pipeline: 4, maxConnections: 1 })
    const stream = dispatch(pool, '/stream')
    const queued = [dispatch(pool, '/1'), dispatch(pool, '/2')]
    const server = await backend.connection()
    await server.request(3)
    server.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n')
    await stream.waitUntil(() => stream.body === 'one')
    // Their timeout starts at the first sweep after they are sent.
    pool.sweep()
    pass(9 * SECOND, pool)
    t.strictSame(
      queued.map(({ failure }) => failure),
      [undefined, undefined],
    )
    pass(11 * SECOND, pool)
    t.strictSame(
      queued.map(({ failure }) => [failure?.kind, failure?.collateral]),
      [
        ['timeout', true],
        ['timeout', true],
      ],
    )
    t.equal(stream.failure, undefined)
    server.send('0\r\n\r\n').reply('late').reply('later')
    await stream.done
    t.equal(stream.body, 'one')
    const next = dispatch(pool, '/next')
    await server.request(4)
    server.reply('next')
    await next.done
    t.equal(next.body, 'next')
    t.strictSame(
      queued.map(({ events }) => events),
      [['failure timeout'], ['failure timeout']],
    )
  },
)

t.test('only one of the calls lost with a connection counts against the backend', async (t) => {
  for (const cancelled of [false, true]) {
    const backend = await openRawBackend(t)
    const pool = openPool(backend.port, { pipeline: 4, maxConnections: 1 })
    const calls = ['/1', '/2', '/3', '/4'].map((path) => dispatch(pool, path))
    const server = await backend.connection()
    await server.request(4)
    if (cancelled) pool.cancel(calls.shift()!)
    server.socket.destroy()
    await Promise.all(calls.map(({ done }) => done))
    t.strictSame(
      calls.map(({ failure }) => failure?.collateral),
      cancelled ? [false, true, true] : [false, true, true, true],
    )
  }
})

const realNow = performance.now.bind(performance)
let offsetMs = 0
performance.now = () => realNow() + offsetMs

/** Advances the clock of the connections for the rest of the file. */
function advance(ms: number): void {
  offsetMs += ms
  clock.nowMs = performance.now()
}

/** Opens a pool with `connections` idle connections. */
async function openIdlePool(
  port: number,
  connections: number,
  options: Partial<PoolOptions> = {},
): Promise<Pool> {
  const pool = openPool(port, { maxConnections: connections, maxWaiting: 10, ...options })
  const calls = Array.from({ length: connections }, () => dispatch(pool))
  await Promise.all(calls.map(({ done }) => done))
  t.equal(pool.size, connections)
  return pool
}

for (const [situation, connections, options, size] of [
  ['instead of a keep-alive one', 2, {}, 2],
  ['next to a pipelined one', 1, { pipeline: 4, maxConnections: 2 }, 2],
] as const)
  t.test(`a retry opens a new connection ${situation}`, async (t) => {
    const backend = await openRawBackend(t, { onRequest: (server) => server.reply() })
    const pool = await openIdlePool(backend.port, connections, options)
    const before = backend.connections.length
    const call = new Collector()
    call.isRepeat = true
    pool.dispatch(call)
    await call.done
    t.equal(call.body, 'ok')
    t.equal(backend.connections.length, before + 1)
    t.equal(pool.size, size)
  })

t.test('retries do not add connections while there are unused ones', async (t) => {
  const backend = await openRawBackend(t, { onRequest: (server) => server.reply() })
  const pool = openPool(backend.port, { maxConnections: 10 })
  for (let i = 0; i < 5; i++) {
    const call = new Collector({ path: '/', method: 'GET', idempotent: true })
    call.isRepeat = true
    pool.dispatch(call)
    await call.done
  }
  t.equal(backend.connections.length, 5)
  t.equal(pool.size, 1)
})

t.test('a queued retry gets a new connection', async (t) => {
  const backend = await openRawBackend(t)
  const pool = openPool(backend.port, { maxConnections: 1 })
  const first = dispatch(pool)
  const repeat = new Collector()
  repeat.isRepeat = true
  pool.dispatch(repeat)
  const server = await backend.connection()
  await server.request()
  server.reply()
  await first.done
  const next = await backend.connection(1)
  await next.request()
  next.reply('new')
  await repeat.done
  t.equal(repeat.body, 'new')
  t.equal(pool.size, 1)
})

t.test(
  'a call with a short body that a connection did not send is sent on a new one',
  async (t) => {
    const backend = await openRawBackend(t)
    const pool = openPool(backend.port, { maxConnections: 3 })
    const calls = [dispatch(pool), dispatch(pool)]
    for (const i of [0, 1]) {
      const server = await backend.connection(i)
      await server.request()
      server.reply()
    }
    await Promise.all(calls.map(({ done }) => done))
    const post: Collector = new Collector({
      method: 'POST',
      idempotent: false,
      bodyLength: 4,
      onReady: () => {
        t.equal(post.connection!.sendBody(Buffer.from('body'), true), true)
      },
    })
    pool.dispatch(post)
    // The close of the connection must be detected in the tick of the request.
    post.connection!.destroy()
    const server = await backend.connection(2)
    await server.waitUntil(() => server.text.endsWith('body'))
    t.match(server.text, /^POST .*\r\n\r\nbody$/s)
    t.equal(server.reads, 1, 'head and body in one write')
    server.reply('served')
    await post.done
    t.equal(post.body, 'served')
    t.strictSame(post.events, ['unsent', 'reply'])
  },
)

t.test('the pool infers the idle timeout of a node from closed connections', async (t) => {
  const backend = await openRawBackend(t, { onRequest: (server) => server.reply() })
  const pool = await openIdlePool(backend.port, 2)
  const close = async (idleMs: number, connections: number[]) => {
    advance(idleMs)
    const size = pool.size
    for (const i of connections) backend.connections[i]!.socket.destroy()
    await waitUntil(() => pool.size === size - connections.length)
    pool.sweep()
  }
  await close(2 * SECOND, [0])
  t.equal(pool.size, 0, 'the other connection has been idle as long')
  await dispatch(pool).done
  advance(1.4 * SECOND)
  await dispatch(pool).done
  t.equal(backend.connections.length, 3, 'reused while idle for less time')
  advance(1.7 * SECOND)
  await dispatch(pool).done
  t.equal(backend.connections.length, 4, 'not reused when idle for nearly as long')
  advance(11 * 60 * SECOND)
  pool.sweep()
  await dispatch(pool).done
  advance(1.7 * SECOND)
  await dispatch(pool).done
  t.equal(backend.connections.length, 5, 'the inferred timeout expires after ten minutes')
})

t.test('the shutdown of a node does not change the idle timeout', async (t) => {
  const backend = await openRawBackend(t, { onRequest: (server) => server.reply() })
  const pool = await openIdlePool(backend.port, 2)
  const retained = dispatch(pool)
  advance(3 * SECOND)
  const newCall = dispatch(pool)
  await Promise.all([retained.done, newCall.done])
  advance(1 * SECOND)
  await dispatch(pool).done
  advance(0.6 * SECOND)
  for (const server of backend.connections) server.socket.destroy()
  await waitUntil(() => pool.size === 0)
  pool.sweep()
  await dispatch(pool).done
  advance(3 * SECOND)
  await dispatch(pool).done
  t.equal(backend.connections.length, 3)
})

t.test('a connection over its maximum age gets no more calls', async (t) => {
  const backend = await openRawBackend(t, { onRequest: (server) => server.reply() })
  for (const pipeline of [1, 4]) {
    const from = backend.connections.length
    const pool = openPool(backend.port, { pipeline, maxAgeMs: 10 * SECOND })
    for (let i = 0; i < 4; i++) {
      await dispatch(pool).done
      advance(3 * SECOND)
    }
    t.equal(backend.connections.length, from + 1, 'one connection before the maximum age')
    await dispatch(pool).done
    t.equal(
      backend.connections.length,
      from + 2,
      'a new connection, although the old connection was never idle for long',
    )
    pool.sweep()
    t.equal(pool.size, 1)
  }
})
