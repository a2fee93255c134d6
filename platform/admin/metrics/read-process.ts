import type { Registry } from 'prom-client'
import type { Metric } from './samples.ts'

/** Resolution of the event loop delay in milliseconds. */
const DELAY_RESOLUTION_MS = 50

let standard: Promise<Registry> | undefined

/**
 * Reads the metrics of the Node.js process: CPU time, memory, open files, event loop delay, garbage
 * collection.
 */
export async function readProcessMetrics(): Promise<Metric[]> {
  standard ??= openStandard()
  const metrics = (await (await standard).getMetricsAsJSON()) as unknown as Metric[]
  return metrics.map((metric) => ({
    ...metric,
    // An unmeasured delay is NaN, which cannot be serialized as JSON.
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
