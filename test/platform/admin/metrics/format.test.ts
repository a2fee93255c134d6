import t from 'tap'
import { format } from '../../../../platform/admin/metrics/format.ts'
import { createSamples } from '../../../../platform/admin/metrics/samples.ts'
import { findScraped, parseScrape } from '../../../fixtures/prometheus.ts'

const HOSTILE = 'a"b\\c\nd{e="f"} 1'

function gather() {
  const samples = createSamples()
  samples.add('retries', 3, { service: HOSTILE })
  samples.add('active', 2)
  return samples.metrics()
}

t.test('formats metrics as Prometheus text and OpenMetrics', async (t) => {
  const [text, open] = await Promise.all([format(gather(), false), format(gather(), true)])
  t.equal(text.type, 'text/plain; version=0.0.4; charset=utf-8')
  t.equal(open.type, 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  for (const result of [text, open]) {
    const scraped = parseScrape(result.text)
    t.equal(findScraped(scraped, 'mx_upstream_retries_total', { service: HOSTILE }), 3)
    t.equal(findScraped(scraped, 'http_server_active_requests'), 2)
    t.equal(scraped.length, 2, 'values of labels create no other samples')
  }
  t.match(text.text, /^# TYPE mx_upstream_retries_total counter$/m)
  t.match(open.text, /^# TYPE mx_upstream_retries counter$/m)
  t.ok(open.text.endsWith('\n# EOF\n'))
  t.notMatch(text.text, /EOF/)
})

t.test('yields to the event loop while it formats many metrics', async (t) => {
  const samples = createSamples()
  for (let i = 0; i < 5000; i++) samples.add('retries', i, { service: `s${i}` })
  const outcome = format(samples.metrics(), false)
  let ticks = 0
  let hasEnded = false
  const count = (): void => {
    ticks++
    if (!hasEnded) setImmediate(count)
  }
  setImmediate(count)
  const { text } = await outcome
  hasEnded = true
  t.ok(ticks >= 4, `${ticks} ticks`)
  t.equal(parseScrape(text).length, 5000)
})
