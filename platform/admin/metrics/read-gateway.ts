import { X509Certificate } from 'node:crypto'
import { bodyMemory } from '../../../core/limits/memory-budget.ts'
import { cuts } from '../../../core/limits/request-buffers.ts'
import type { Certificate } from '../../../core/listener/tls/tls.ts'
import type { RequestMetrics } from '../../../core/metrics/request-metrics.ts'
import {
  CLASSES,
  LABELLED_METHODS,
  OTHER_ROUTES,
  type RouteCounters,
} from '../../../core/metrics/route-counters.ts'
import type { ServiceInUse } from '../../../core/registry/service-cache.ts'
import {
  NODE_STATES,
  type NodeState,
  toNodeState,
} from '../../../core/upstream/health/node-status.ts'
import type { GatewayStats } from '../../gateway/types.ts'
import { readVersion } from '../../process/version.ts'
import { createSamples, type Metric, type Samples, toLabels } from './samples.ts'

/** Factor from milliseconds to seconds. */
const MS = 1 / 1000
/** Maximum number of services with separate metrics. All further services are combined. */
const MAX_SERVICES = 1000

export function readGateway(measured: GatewayStats): Metric[] {
  const samples = createSamples()
  const { metrics } = measured
  if (metrics !== undefined) readRequests(metrics, samples)
  samples.add('active', measured.inFlight())
  samples.add('connections', measured.connections())
  samples.add('bufferedBytes', bodyMemory.usedBytes)
  samples.add('bufferCuts', cuts.count)
  const directories = measured.directories()
  readServices(
    directories.flatMap((directory) => [...directory.services()]),
    samples,
  )
  const outages = directories.map(({ outage }) => outage?.durationMs ?? 0)
  samples.add('registryOutage', Math.max(...outages) * MS)
  for (const { service, route, limit, waiting } of measured.limits.usage()) {
    const labels = toLabels({ service, route })
    samples.add('concurrencyLimit', limit, labels)
    samples.add('waiting', waiting, labels)
  }
  readCaches(measured, samples)
  readCertificates(measured.certificates(), samples)
  readBroker(measured, samples)
  samples.add('build', 1, { version: readVersion() })
  return samples.metrics()
}

function readRequests({ routes, services, aborted }: RequestMetrics, samples: Samples): void {
  for (const route of routes.values()) readRoute(route, samples)
  samples.add('aborted', aborted)
  for (const [service, { retries, ejections, overflows }] of services.entries()) {
    samples.add('retries', retries, { service })
    samples.add('ejections', ejections, { service })
    samples.add('overflows', overflows, { service })
  }
}

function readRoute(route: RouteCounters, samples: Samples): void {
  const { service, endpoint, path, durations, upstream, gateway, bytesIn, bytesOut } = route
  const labels = toLabels({ service, endpoint, http_route: path })
  let isUsed = false
  for (const [at, buckets] of durations.entries()) {
    if (buckets === undefined) continue
    isUsed = true
    const first = at % CLASSES
    const request = {
      http_request_method: LABELLED_METHODS[Math.floor(at / CLASSES)]!,
      http_response_status_class: first === 0 ? 'none' : `${first}xx`,
    }
    samples.addBuckets('duration', buckets, { ...request, ...labels }, MS)
  }
  if (!isUsed) return
  if (upstream.count > 0) samples.addBuckets('upstream', upstream, labels, MS)
  if (gateway.count > 0) samples.addBuckets('gateway', gateway, labels, MS)
  samples.addBuckets('requestSize', bytesIn, labels)
  samples.addBuckets('responseSize', bytesOut, labels)
}

interface ServiceSums {
  readonly nodes: Map<MetricState, number>
  connections: number
  active: number
  downForMs: number
}

/** A node in slow start counts as usable. */
type MetricState = Exclude<NodeState, 'warming'>
const METRIC_STATES = NODE_STATES.filter((state) => state !== 'warming')

function readServices(services: readonly ServiceInUse[], samples: Samples): void {
  const sums = new Map<string, ServiceSums>()
  for (const { upstream, downForMs } of services) {
    const isKnown = sums.has(upstream.label) || sums.size < MAX_SERVICES
    const name = isKnown ? upstream.label : OTHER_ROUTES
    const sum = sums.get(name) ?? {
      nodes: new Map<MetricState, number>(),
      ...{ connections: 0, active: 0, downForMs: 0 },
    }
    sums.set(name, sum)
    for (const node of upstream.nodes) {
      const state = toNodeState(upstream, node)
      const label = state === 'warming' ? 'usable' : state
      sum.nodes.set(label, (sum.nodes.get(label) ?? 0) + 1)
      sum.connections += node.connections
      sum.active += node.active
    }
    sum.downForMs = Math.max(sum.downForMs, downForMs)
  }
  for (const [service, sum] of sums) {
    for (const state of METRIC_STATES)
      samples.add('nodes', sum.nodes.get(state) ?? 0, { service, state })
    samples.add('upstreamConnections', sum.connections, { service })
    samples.add('upstreamActive', sum.active, { service })
    samples.add('registryAge', sum.downForMs * MS, { service })
  }
}

function readBroker({ broker }: GatewayStats, samples: Samples): void {
  if (broker === undefined) return
  samples.add('brokerDrops', broker.dropped, { queue: 'server' })
  samples.add('brokerDrops', broker.droppedRemotely, { queue: 'subscriber' })
}

function readCaches(measured: GatewayStats, samples: Samples): void {
  const caches = measured.caches()
  // All caches share their counters.
  const { hits, misses } = caches[0]!.counts
  samples.add('cacheHits', hits)
  samples.add('cacheMisses', misses)
  samples.add(
    'cacheEntries',
    caches.reduce((sum, { size }) => sum + size, 0),
  )
}

/** Label of a certificate without DNS names. */
const NO_NAME = '*'
const expiries = new WeakMap<Certificate, number>()

/**
 * Reads the certificate served for each name, which is the first one with that name. A certificate
 * without names is only served as the default.
 */
function readCertificates(pairs: readonly Certificate[], samples: Samples): void {
  const seenNames = new Set<string>()
  for (const [i, pair] of pairs.entries()) {
    const names = i === 0 && pair.names.length === 0 ? [NO_NAME] : pair.names
    for (const name of names) {
      if (seenNames.has(name)) continue
      seenNames.add(name)
      samples.add('certificateEnd', readExpiry(pair), { name })
    }
  }
}

function readExpiry(pair: Certificate): number {
  let seconds = expiries.get(pair)
  if (seconds === undefined) {
    seconds = Math.floor(Date.parse(new X509Certificate(pair.cert).validTo) / 1000)
    expiries.set(pair, seconds)
  }
  return seconds
}
