import t from 'tap'
import { MAX_RECENT, RecentRequests } from '../../../core/metrics/recent-requests.ts'
import { RequestMetrics } from '../../../core/metrics/request-metrics.ts'
import { createTestExchange } from '../../../sdk/testing.ts'

function open() {
  const recent = new RecentRequests()
  const metrics = new RequestMetrics(recent)
  /** Counts a request. @param tookMs its duration. */
  const request = (status: number, path = '/', tookMs = 0): void => {
    const x = createTestExchange({ path })
    Object.assign(x, { startMs: x.startMs - tookMs })
    x.reply(status, '')
    metrics.count(x)
  }
  return { recent, metrics, request }
}

t.test('failed and slow requests are listed, others are not', async (t) => {
  const { recent, metrics, request } = open()
  for (const status of [200, 204, 304]) request(status)
  request(200, '/slow', 1500)
  request(404, '/missing')
  request(503, '/down')
  const abandoned = createTestExchange({ path: '/disconnected' })
  abandoned.disconnect()
  metrics.count(abandoned)
  const result = recent.list().map(({ path, status }) => [path, status])
  t.strictSame(
    result.sort(),
    [
      ['/slow', 200],
      ['/missing', 404],
      ['/down', 503],
      ['/disconnected', 0],
    ].sort(),
  )
  t.ok(recent.list().find(({ path }) => path === '/slow')!.duration_ms >= 1500)
})

t.test('keeps 200 requests per kind, and 4xx responses evict no other kind', async (t) => {
  const { recent, request } = open()
  request(502, '/down')
  for (let i = 0; i < MAX_RECENT + 5; i++) request(404, `/${i}`)
  const paths = recent.list().map(({ path }) => path)
  t.equal(paths.length, MAX_RECENT + 1)
  t.ok(paths.includes('/down') && paths.includes('/204'))
  t.notOk(paths.includes('/4'))
})

t.test('the path of a request is cut to 256 characters', async (t) => {
  const { recent, request } = open()
  request(404, `/${'x'.repeat(5000)}`)
  t.equal(recent.list()[0]!.path.length, 256)
})
