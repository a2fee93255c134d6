import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { Chart } from '../components/chart/chart.tsx'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { Loading } from '../components/states.tsx'
import { formatBytes, formatCount, formatDuration } from '../components/time/format.ts'
import { useWatch } from '../hooks/use-call.ts'
import { Health } from '../overview/health.tsx'
import { Services } from '../overview/services.tsx'
import { addPoints, type Point, type Summary, summarize } from '../overview/stats.ts'
import { openStream } from '../rpc/caller.ts'
import { DEFAULT_NAMESPACE } from '../state/session.ts'
import '../style/overview.css'

/** Gateway metrics of the last five minutes, services, and health of the built-in services. */
export default function Overview(): JSX.Element {
  const [points, setPoints] = useState<readonly Point[]>([])
  const { state, error, restart } = useWatch(
    () =>
      openStream<{ readonly points?: readonly Point[] }>(
        'api',
        'Api.Stats',
        {},
        { namespace: DEFAULT_NAMESPACE },
      ),
    ({ points: more = [] }) => setPoints((before) => addPoints(before, more)),
    [],
  )
  const summary = useMemo(() => summarize(points), [points])
  return (
    <Page
      title="Overview"
      about="Gateway traffic in the last five minutes"
      actions={state === 'stale' && <Badge tone="warning">Stale</Badge>}
    >
      {state === 'failed' && error !== undefined ? (
        <Problem error={error} subject="gateway metrics (api Api.Stats)" onRetry={restart} />
      ) : summary === undefined ? (
        <Loading label="Waiting for data" />
      ) : (
        <>
          <Facts summary={summary} />
          <Charts points={points} />
        </>
      )}
      <Services />
      <Health />
    </Page>
  )
}

function Facts({ summary }: { readonly summary: Summary }): JSX.Element {
  const { rate, errors, p50Ms, p99Ms, inFlight, bytesOut } = summary
  const facts: readonly (readonly [string, string, boolean?])[] = [
    ['Requests per second', formatCount(rate)],
    [
      'Errors (5xx)',
      errors === undefined ? '–' : `${(errors * 100).toFixed(1)} %`,
      (errors ?? 0) > 0,
    ],
    ['Latency (p50)', p50Ms === undefined ? '–' : formatDuration(p50Ms)],
    ['Latency (p99)', p99Ms === undefined ? '–' : formatDuration(p99Ms)],
    ['In flight', formatCount(inFlight)],
    ['Bytes sent per second', formatBytes(bytesOut)],
  ]
  return (
    <dl class="numbers">
      {facts.map(([name, value, isBad]) => (
        <div key={name} class="card number">
          <dt>{name}</dt>
          <dd class={isBad === true ? 'bad' : ''}>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function Charts({ points }: { readonly points: readonly Point[] }): JSX.Element {
  const { times, rates, latencies } = useMemo(() => toSeries(points), [points])
  return (
    <div class="charts">
      <div class="card">
        <Chart title="Requests per second" times={times} series={rates} format={formatCount} />
      </div>
      <div class="card">
        <Chart title="Latency" times={times} series={latencies} format={formatDuration} />
      </div>
    </div>
  )
}

function toSeries(points: readonly Point[]) {
  const rate = (of: (point: Point) => number): number[] =>
    points.map((point) => of(point) / point.seconds)
  return {
    times: points.map(({ time }) => time / 1000),
    rates: [
      { label: 'All', color: '--accent', values: rate((point) => point.requests), filled: true },
      { label: '4xx', color: '--warning', values: rate((point) => point.status_4xx) },
      { label: '5xx', color: '--bad', values: rate((point) => point.status_5xx) },
    ],
    latencies: [
      { label: 'p99', color: '--warning', values: points.map(({ p99_ms }) => p99_ms) },
      { label: 'p50', color: '--accent', values: points.map(({ p50_ms }) => p50_ms) },
    ],
  }
}
