import t from 'tap'
import { LatencyQuantile } from '../../../../core/upstream/retry/latency-quantile.ts'

t.test('the 95th percentile is known from 32 latencies on, and follows the last 256', async (t) => {
  const latencies = new LatencyQuantile()
  for (let i = 1; i <= 31; i++) latencies.add(i)
  t.equal(latencies.p95Ms, undefined)
  latencies.add(32)
  t.equal(latencies.p95Ms, 31)
  for (let i = 0; i < 256; i++) latencies.add(i % 100 === 0 ? 500 : 10)
  t.equal(latencies.p95Ms, 10)
  for (let i = 0; i < 256; i++) latencies.add(i % 10 === 0 ? 500 : 10)
  t.equal(latencies.p95Ms, 500)
})
