import t from 'tap'
import { HeaderList } from '../../../core/http/headers.ts'
import { RequestMetrics } from '../../../core/metrics/request-metrics.ts'
import { createTestExchange } from '../../../sdk/testing.ts'

function reply(status: number, body = '') {
  const x = createTestExchange()
  x.reply(status, body)
  return x
}

t.test(
  'requests are counted by status class with their bytes, disconnects separately',
  async (t) => {
    const metrics = new RequestMetrics()
    for (const status of [200, 204, 301, 404, 404, 500]) metrics.count(reply(status))
    metrics.count(reply(599, 'odd'))
    const disconnected = createTestExchange({ method: 'POST', body: 'abc' })
    disconnected.sendBody('abc', true)
    disconnected.leave()
    metrics.count(disconnected)
    t.strictSame([...metrics.byClass], [1, 0, 2, 1, 2, 2, 0, 0, 0, 0])
    t.equal(metrics.requests, 8)
    t.equal(metrics.aborted, 1)
    t.equal(metrics.bytesIn, 3)
    t.equal(metrics.bytesOut, 3)
    t.equal(metrics.durations.count, 7, 'a disconnect has no duration')
  },
)

t.test('a sampled duration counts for all requests it represents', async (t) => {
  const metrics = new RequestMetrics()
  metrics.measureEvery = 16
  // The first request counts once.
  for (let i = 0; i < 1 + 16 * 5; i++) metrics.count(reply(200))
  t.equal(metrics.requests, 81)
  t.equal(metrics.durations.count, 81)
})

t.test(
  'measures every 16th duration at 1000 requests per second, and every duration below',
  async (t) => {
    const metrics = new RequestMetrics()
    for (let i = 0; i < 1000; i++) metrics.count(reply(200))
    metrics.adapt(1000)
    t.equal(metrics.measureEvery, 16)
    for (let i = 0; i < 499; i++) metrics.count(reply(200))
    metrics.adapt(1500)
    metrics.adapt(1500)
    t.equal(metrics.measureEvery, 1)
  },
)

t.test('the duration of a streamed response ends with its head', async (t) => {
  const metrics = new RequestMetrics()
  const x = createTestExchange()
  x.start(200, new HeaderList(), -1)
  x.upstreamReplyMs = x.startMs + 5
  x.write(Buffer.from('a'))
  x.end()
  metrics.count(x)
  t.equal(metrics.durations.count, 1)
  t.equal(metrics.durations.percentile(50), 5000)
  const headless = createTestExchange()
  headless.start(200, new HeaderList(), -1)
  headless.end()
  metrics.count(headless)
  t.equal(metrics.durations.count, 1, 'a stream without a backend has no duration')
})

t.test('a WebSocket is counted without a duration', async (t) => {
  const metrics = new RequestMetrics()
  const x = createTestExchange({
    upgrade: true,
    headers: { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' },
  })
  const socket = x.accept({ onMessage: () => {}, onDrain: () => {}, onClose: () => {} })
  x.upstreamReplyMs = x.startMs + 1
  socket!.close(1000, '')
  metrics.count(x)
  t.equal(metrics.byClass[1], 1)
  t.equal(metrics.durations.count, 0)
})

t.test('the duration per route excludes the lifetime of WebSockets and streams', async (t) => {
  const metrics = new RequestMetrics()
  const route = metrics.routes.values()[0]!
  const socket = createTestExchange({
    upgrade: true,
    headers: { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' },
  })
  const stream = createTestExchange()
  const hourAgo = performance.now() - 3_600_000
  socket.accept({ onMessage: () => {}, onDrain: () => {}, onClose: () => {} })!.close(1000, '')
  stream.start(200, new HeaderList(), -1)
  stream.end()
  for (const x of [socket, stream]) {
    Object.assign(x, { startMs: hourAgo, upstreamStartMs: hourAgo + 2 })
    metrics.count(x)
  }
  const sums = route.durations.flatMap((buckets) => (buckets === undefined ? [] : [buckets.sum]))
  t.equal(sums.length, 2)
  for (const sum of sums) t.ok(sum < 3, `${sum} ms`)
})
