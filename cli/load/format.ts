import type { LoadResult, Progress } from './run-load.ts'

/** Parameters of a run, printed as the heading of the report. */
export interface ReportHeading {
  readonly method: string
  readonly url: string
  readonly connections: number
  readonly rate: number | undefined
}

const FAILURE_TEXTS: Readonly<Record<keyof LoadResult['failures'], string>> = {
  refused: 'connection refused',
  unreachable: 'unreachable',
  reset: 'connection reset',
  closed: 'connection closed before the response',
  timeout: 'timeout',
  malformed: 'malformed response',
}

/** Formats the report of a run as text. */
export function formatReport(heading: ReportHeading, result: LoadResult): string {
  const { latency } = result
  const pace =
    heading.rate === undefined
      ? 'closed loop'
      : `open loop at ${formatCount(heading.rate)} requests/s`
  const rows: [string, string][] = [
    ['requests', `${formatCount(result.sent)} sent, ${formatCount(result.replies)} responses`],
    [
      'throughput',
      `${formatCount(result.requestsPerSecond)} requests/s, ${formatBytes((result.bytesIn * 1000) / result.elapsedMs)}/s`,
    ],
    [
      'latency',
      [
        ['p50', latency.p50],
        ['p90', latency.p90],
        ['p99', latency.p99],
        ['p99.9', latency.p999],
        ['max', latency.max],
      ]
        .map(([name, milliseconds]) => `${name} ${formatMs(milliseconds as number)}`)
        .join('   '),
    ],
    [
      'statuses',
      Object.entries(result.statuses)
        .map(([status, count]) => `${status}: ${formatCount(count)}`)
        .join('   ') || 'none',
    ],
    ['errors', formatErrors(result)],
  ]
  if (result.serverTiming !== undefined)
    rows.push(['breakdown', formatShares(result.serverTiming, latency.mean)])
  const lines = [
    `${heading.method} ${heading.url}`,
    `${heading.connections} connections, ${(result.elapsedMs / 1000).toFixed(1)} s${result.interrupted ? ' (stopped early)' : ''}, ${pace}`,
    '',
    ...rows.map(([name, text]) => `${name.padEnd(12)}${text}`),
    '',
    heading.rate === undefined
      ? 'Latency is measured from sending. Each connection waits for its response before it sends again, so a slow gateway gets\nfewer requests. To measure the latency of independent clients, use --rate.'
      : 'Latency is measured from the time a request was due, including the wait for a free connection.',
  ]
  return `${lines.join('\n')}\n`
}

/** Formats the progress line of a run. */
export function formatLive(progress: Progress): string {
  const seconds = (progress.elapsedMs / 1000).toFixed(1).padStart(5)
  return `${seconds} s  ${formatCount(progress.requestsPerSecond)} requests/s  p99 ${formatMs(progress.p99Ms)}  ${formatCount(progress.errors)} errors`
}

function formatErrors(result: LoadResult): string {
  const parts: string[] = []
  let clientErrors = 0
  let serverErrors = 0
  for (const [status, count] of Object.entries(result.statuses)) {
    if (status.startsWith('4')) clientErrors += count
    else if (status.startsWith('5')) serverErrors += count
  }
  if (clientErrors > 0) parts.push(`4xx: ${formatCount(clientErrors)}`)
  if (serverErrors > 0) parts.push(`5xx: ${formatCount(serverErrors)}`)
  for (const [failure, text] of Object.entries(FAILURE_TEXTS)) {
    const count = result.failures[failure as keyof LoadResult['failures']]
    if (count > 0) parts.push(`${text}: ${formatCount(count)}`)
  }
  if (result.overdue > 0)
    parts.push(`not sent (no free connection): ${formatCount(result.overdue)}`)
  if (result.unfinished > 0)
    parts.push(`unfinished when stopped: ${formatCount(result.unfinished)}`)
  return parts.join('   ') || 'none'
}

function formatShares(timing: NonNullable<LoadResult['serverTiming']>, meanMs: number): string {
  const otherMs = Math.max(0, meanMs - timing.gatewayMs - timing.upstreamMs)
  const total = timing.gatewayMs + timing.upstreamMs + otherMs
  const share = (milliseconds: number) => {
    const percent = total > 0 ? (milliseconds / total) * 100 : 0
    const rounded = percent > 0 && percent < 1 ? '< 1' : percent.toFixed(0)
    return `${formatMs(milliseconds)} (${rounded} %)`
  }
  return `gateway ${share(timing.gatewayMs)}   upstream ${share(timing.upstreamMs)}   network and queue ${share(otherMs)}`
}

function formatMs(milliseconds: number): string {
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(2)} s`
  return `${milliseconds.toFixed(milliseconds < 10 ? 3 : 1)} ms`
}

function formatCount(count: number): string {
  const rounded = count < 10 ? Math.round(count * 100) / 100 : Math.round(count)
  return String(rounded).replace(/\B(?=(?:\d{3})+$)/g, ' ')
}

function formatBytes(bytes: number): string {
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`
  return bytes >= 1e3 ? `${(bytes / 1e3).toFixed(1)} kB` : `${Math.round(bytes)} B`
}
