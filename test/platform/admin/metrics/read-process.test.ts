import t from 'tap'
import { format } from '../../../../platform/admin/metrics/format.ts'
import { readProcessMetrics } from '../../../../platform/admin/metrics/read-process.ts'
import { findScraped, parseScrape } from '../../../fixtures/prometheus.ts'

t.test('reports serializable process metrics', async (t) => {
  const metrics = await readProcessMetrics()
  t.strictSame(structuredClone(metrics), metrics, 'plain data')
  const scraped = parseScrape((await format(metrics, true)).text)
  t.ok(findScraped(scraped, 'process_resident_memory_bytes')! > 1e6)
  t.ok(metrics.some(({ name }) => name === 'nodejs_eventloop_lag_p99_seconds'))
  t.equal((await readProcessMetrics()).length, metrics.length, 'repeatable')
})
