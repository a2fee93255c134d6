import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { METRICS } from '../../platform/admin/metrics/table.ts'
import { ROOT } from '../../scripts/root.ts'

const text = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8')

t.test('docs/metrics.md lists every metric with type, labels and help', async (t) => {
  const rows = Object.values(METRICS).map(({ name, type, labels, help }) => {
    const cells = labels.map((label) => `\`${label}\``).join(', ')
    return `| \`${name}\` | ${type} | ${cells} | ${help} |\n`
  })
  const head = '| metric | type | labels | description |\n|---|---|---|---|\n'
  const table = /<!-- metrics\b[^>]*-->\n([\s\S]*?)<!-- \/metrics -->/.exec(text)?.[1]
  t.equal(table, head + rows.join(''))
})

t.test('the alert rules in docs/metrics.md use metrics that exist', async (t) => {
  const [, rules = ''] = /```yaml\n(groups:[\s\S]*?)```/.exec(text) ?? []
  const events = Object.values(METRICS).map(({ name }) => name)
  const metricNames = rules.match(/\b(?:mx|http_server)_[a-z_]+\b/g) ?? []
  t.ok(metricNames.length > 5)
  for (const name of metricNames)
    t.ok(
      events.includes(name.replace(/_(bucket|sum|count)$/, '')) || name.startsWith('http_response'),
      name,
    )
})
