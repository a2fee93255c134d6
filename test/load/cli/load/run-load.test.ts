import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createRequest } from '../../../../cli/load/request.ts'
import { type LoadOptions, type LoadResult, runLoad } from '../../../../cli/load/run-load.ts'
import { listen } from '../../../fixtures/listen.ts'

async function serve(t: Test, server: Server): Promise<string> {
  server.on('connection', (socket: Socket) => socket.on('error', () => {}))
  return `127.0.0.1:${await listen(t, server)}`
}

const serveHttp = (t: Test, onRequest: RequestListener) => serve(t, createHttpServer(onRequest))
const serveRaw = (t: Test, onData: (socket: Socket) => void) =>
  serve(
    t,
    createServer((socket) => socket.on('data', () => onData(socket))),
  )

function load(address: string, options: Partial<LoadOptions> = {}): Promise<LoadResult> {
  const target = createRequest({ words: ['/x'], address, headers: [], body: Buffer.alloc(0) })
  return runLoad({ target, connections: 4, durationMs: 200, timeoutMs: 5000, ...options })
}

t.test('without a rate every connection sends the next request after its response', async (t) => {
  let served = 0
  let running = 0
  let maxRunning = 0
  const address = await serveHttp(t, (_request, response) => {
    served++
    maxRunning = Math.max(maxRunning, ++running)
    setTimeout(() => {
      running--
      response.setHeader('server-timing', 'gateway;dur=0.5, upstream;dur=1.5')
      response.end('hello')
    }, 5)
  })
  const result = await load(address)
  t.ok(result.sent > 8, 'connections are reused')
  t.equal(result.sent, served)
  t.equal(result.replies, served)
  t.equal(maxRunning, 4)
  t.same(result.statuses, { 200: served })
  t.same(result.failures, {
    refused: 0,
    unreachable: 0,
    reset: 0,
    closed: 0,
    timeout: 0,
    malformed: 0,
  })
  t.equal(result.serverTiming?.replies, served)
  t.ok(Math.abs((result.serverTiming?.upstreamMs ?? 0) - 1.5) < 1e-6)
  t.ok(
    result.latency.p50 > 0 &&
      result.latency.p50 <= result.latency.p99 &&
      result.latency.p99 <= result.latency.max,
  )
  t.ok(result.elapsedMs >= 200)
  t.equal(result.interrupted, false)
})

t.test('with a rate every scheduled request is either sent or counted as overdue', async (t) => {
  const address = await serveHttp(t, (_request, response) => response.end('hello'))
  const result = await load(address, { rate: 500, durationMs: 400, connections: 64 })
  t.equal(result.sent + result.overdue, 200)
  t.equal(result.replies, result.sent)
  t.ok(result.sent > 0)
})

t.test('requests scheduled during a stall are measured from their scheduled time', async (t) => {
  let first = true
  const address = await serveHttp(t, (_request, response) => {
    setTimeout(() => response.end(), first ? 300 : 0)
    first = false
  })
  const result = await load(address, { connections: 1, rate: 100, durationMs: 400 })
  t.ok(result.latency.max >= 290, 'the stalled request')
  t.ok(result.latency.p50 > 30, `most other requests waited for it: ${result.latency.p50} ms`)
  t.equal(result.sent + result.overdue, 40)
})

t.test(
  'requests without a free connection count as overdue, including their waiting time',
  async (t) => {
    const address = await serveHttp(t, () => {})
    const result = await load(address, {
      connections: 1,
      rate: 100,
      durationMs: 200,
      timeoutMs: 400,
    })
    t.equal(result.sent, 1)
    t.equal(result.replies, 0)
    t.equal(result.failures.timeout, 1)
    t.equal(result.overdue, 19)
    t.ok(result.latency.p50 >= 200, `waited until the end: ${result.latency.p50} ms`)
  },
)

t.test('reconnects after a response that closes the connection', async (t) => {
  const address = await serveHttp(t, (_request, response) => {
    response.setHeader('connection', 'close')
    response.end('hello')
  })
  const result = await load(address, { connections: 2 })
  t.ok(result.replies > 2)
  t.equal(result.replies, result.sent)
})

t.test('accepts responses that end with the connection', async (t) => {
  const address = await serveRaw(t, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhello'))
  const result = await load(address, { connections: 2 })
  t.ok(result.replies > 2)
  t.equal(result.replies, result.sent)
})

const FAULTS: readonly [
  title: string,
  failure: keyof LoadResult['failures'],
  onData: (socket: Socket) => void,
][] = [
  ['a malformed response', 'malformed', (socket) => socket.write('nonsense\r\n\r\n')],
  ['a reset connection', 'reset', (socket) => socket.resetAndDestroy()],
  ['a connection closed before the response', 'closed', (socket) => socket.end()],
  [
    'a truncated response',
    'closed',
    (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx'),
  ],
]

for (const [title, failure, onData] of FAULTS) {
  t.test(`${title} is counted as ${failure}, and the next request is sent`, async (t) => {
    const result = await load(await serveRaw(t, onData), { connections: 1, durationMs: 100 })
    t.ok(result.failures[failure] > 1)
    t.equal(result.failures[failure], result.sent)
    t.equal(result.replies, 0)
  })
}

t.test('responses with status 400 and above count as errors in the progress', async (t) => {
  const address = await serveHttp(t, (_request, response) => response.writeHead(503).end())
  const lines: number[] = []
  const result = await load(address, {
    durationMs: 700,
    onProgress: (progress) => lines.push(progress.errors),
  })
  t.same(Object.keys(result.statuses), ['503'])
  t.ok((lines[0] ?? 0) > 0)
})

t.test('fails immediately if the connection is refused at the start', async (t) => {
  const server = createServer()
  const address = await serve(t, server)
  server.close()
  await once(server, 'close')
  await t.rejects(load(address), {
    message: `cannot connect to http://${address}/x: connect ECONNREFUSED ${address}`,
  })
})

t.test('retries at intervals when the gateway stops during the run', async (t) => {
  const server = createServer((socket) => {
    server.close()
    socket.on('data', () => socket.destroy())
  })
  const address = await serve(t, server)
  const result = await load(address, { connections: 1, durationMs: 1000 })
  t.ok(
    result.failures.refused >= 2 && result.failures.refused <= 10,
    `${result.failures.refused} refused connections`,
  )
})

t.test('an aborted run ends immediately and returns its results', async (t) => {
  const stop = new AbortController()
  let served = 0
  const address = await serveHttp(t, (_request, response) => {
    if (++served === 50) stop.abort()
    if (served < 50) response.end()
  })
  const result = await load(address, { durationMs: 60_000, signal: stop.signal })
  t.equal(result.interrupted, true)
  t.ok(result.replies >= 45)
  t.equal(result.replies + result.unfinished, result.sent)
  t.ok(result.elapsedMs < 30_000)
})
