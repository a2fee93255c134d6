import type { Row } from './rounds.ts'

/** Formats rows as a Markdown table. */
export function formatTable(rows: readonly Row[]): string {
  const against = rows[0]?.name ?? ''
  const lines = [
    `| program, one core | requests/s | CPU µs per request | relative to ${against} | p50 ms | p99 ms | peak MiB | errors |`,
    '|---|--:|--:|--:|--:|--:|--:|--:|',
    ...rows.map((row) => formatRow(row)),
  ]
  return `${lines.join('\n')}\n`
}

function formatRow({ title, version, median, ratio, rounds, problem }: Row): string {
  const name = version === '' ? title : `${title} ${version}`
  if (problem !== undefined && rounds.length === 0)
    return `| ${name} | not measured: ${toCell(problem)} | | | | | | |`
  const cells = [
    formatThousands(median.requestsPerSecond),
    formatSpread(
      rounds.map(({ cpuMicros }) => cpuMicros),
      median.cpuMicros,
    ),
    ratio.toFixed(2),
    median.p50Ms.toFixed(2),
    median.p99Ms.toFixed(2),
    median.peakMiB.toFixed(1),
    String(median.errors),
  ]
  return `| ${name} | ${cells.join(' | ')} |`
}

/** Formats the median, with the extremes if the rounds differ by more than 0.1 µs. */
function formatSpread(values: readonly number[], middle: number): string {
  const low = Math.min(...values)
  const high = Math.max(...values)
  return high - low < 0.1
    ? middle.toFixed(1)
    : `${middle.toFixed(1)} (${low.toFixed(1)}-${high.toFixed(1)})`
}

function formatThousands(perSecond: number): string {
  return perSecond >= 10_000 ? `${(perSecond / 1000).toFixed(1)} k` : perSecond.toFixed(0)
}

function toCell(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('|', '/').trim().slice(0, 160)
}
