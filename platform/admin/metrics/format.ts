import { setImmediate as nextTick } from 'node:timers/promises'
import type { AdminSource } from '../admin.ts'
import type { Labels, Metric, Sample } from './samples.ts'

const TEXT = 'text/plain; version=0.0.4; charset=utf-8'
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
/** Number of lines per event loop tick. They take about a millisecond, so that requests are not delayed. */
const LINES_PER_TICK = 1000
const TOTAL = '_total'

/** Formats metrics as OpenMetrics 1.0 or in the Prometheus text format 0.0.4. */
export async function format(
  metrics: readonly Metric[],
  isOpenMetrics: boolean,
): Promise<AdminSource> {
  let text = ''
  let lines = 0
  for (const metric of metrics) {
    const { name, help, type } = metric
    const isTotal = isOpenMetrics && type === 'counter'
    // In OpenMetrics, the name of a counter family omits the suffix _total.
    const family = isTotal && name.endsWith(TOTAL) ? name.slice(0, -TOTAL.length) : name
    if (text !== '' && !isOpenMetrics) text += '\n'
    text += `# HELP ${family} ${escapeText(help)}\n# TYPE ${family} ${type}\n`
    const sampleName = isTotal ? family + TOTAL : family
    for (const sample of metric.values) {
      text +=
        sample.counts === undefined
          ? formatNumber(sampleName, sample)
          : formatBuckets(metric, sample)
      lines += sample.counts === undefined ? 1 : sample.counts.length + 2
      if (lines < LINES_PER_TICK) continue
      lines = 0
      await nextTick()
    }
  }
  if (!isOpenMetrics) return { type: TEXT, text }
  return { type: OPEN_METRICS, text: `${text}# EOF\n` }
}

function formatNumber(sampleName: string, { metricName, labels, value }: Sample): string {
  const text = formatLabels(labels)
  return `${metricName ?? sampleName}${text === '' ? '' : `{${text}}`} ${formatValue(value)}\n`
}

function formatBuckets({ name, bounds }: Metric, { labels, value, counts }: Sample): string {
  const text = formatLabels(labels)
  const start = `${name}_bucket{${text}${text === '' ? '' : ','}le="`
  let lines = ''
  for (const [i, count] of counts!.entries())
    lines += `${start}${bounds?.[i] ?? '+Inf'}"} ${count}\n`
  const all = text === '' ? '' : `{${text}}`
  return `${lines}${name}_sum${all} ${formatValue(value)}\n${name}_count${all} ${counts!.at(-1)}\n`
}

function formatLabels(labels: Labels): string {
  const pairs: string[] = []
  for (const name in labels)
    pairs.push(`${name}="${escapeText(String(labels[name])).replaceAll('"', '\\"')}"`)
  return pairs.join(',')
}

function formatValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}
