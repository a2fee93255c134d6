import type { Registry } from 'prom-client'
import type { Metric } from './samples.ts'

/** How often the delay of the event loop is looked at, milliseconds. */
const DELAY_RESOLUTION_MS = 50

/** That of this process, from the first time that it is asked for. */
let standard: Promise<Registry> | undefined

/** What there is to tell of any process of Node.js: processor time, memory, open files, delays of the event loop, garbage collection. */
export async function readProcess(): Promise<Metric[]> {
  standard ??= openStandard()
  const metrics = (await (await standard).getMetricsAsJSON()) as unknown as Metric[]
  return metrics.map((metric) => ({
    ...metric,
    // A delay that was not measured yet. It is no number, and no process could be told of it.
    values: metric.values.filter(({ value }) => Number.isFinite(value)),
  }))
}

async function openStandard(): Promise<Registry> {
  const { default: prom } = await import('prom-client')
  const registry = new prom.Registry()
  prom.collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: DELAY_RESOLUTION_MS,
  })
  return registry
}
