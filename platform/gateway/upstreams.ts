import type { RequestMetrics } from '../../core/metrics/request-metrics.ts'
import { parseBalance } from '../../core/upstream/balance/parse-balance.ts'
import type { Timeouts } from '../../core/upstream/http1/connection.ts'
import { Http2Pool } from '../../core/upstream/http2/pool.ts'
import type { EjectionOptions } from '../../core/upstream/outlier-detection.ts'
import { Pool } from '../../core/upstream/pool/pool.ts'
import type { PoolAddress, UpstreamOptions } from '../../core/upstream/upstream.ts'
import { indexServices } from '../config/configured-services.ts'
import type { Configuration } from '../config/types.ts'
import type { Log } from '../process/log.ts'
import type { Settings } from '../settings/settings.ts'

/** Connection pools and load balancing of services, by the current configuration. */
export interface Upstreams {
  readonly of: (service: string) => UpstreamOptions
  /** Applies another configuration. Users of {@link of} have to call it again. */
  readonly use: (configuration: Configuration) => void
}

export interface UpstreamsOptions {
  /** Maximum number of connections to all backends together. */
  readonly maxConnections: number
  readonly findCaller: UpstreamOptions['findCaller']
  /** Counts retries and ejections. */
  readonly metrics?: RequestMetrics | undefined
  readonly log: Log
}

/** Idle timeout of HTTP/2 connections, which backends close gracefully (GOAWAY). */
const HTTP2_KEEP_ALIVE_MS = 60_000
/** Requests that may queue for a connection to one node. */
const MAX_WAITING = 1024

export function createUpstreams(
  configuration: Configuration,
  { maxConnections, findCaller, metrics, log }: UpstreamsOptions,
): Upstreams {
  let { settings } = configuration
  let configured = indexServices(configuration)
  const ejection = toEjection(settings)
  const toTimeouts = (service: string): Timeouts => {
    const { connect, response, idle } = configured.get(service)?.timeouts ?? {}
    return {
      connectMs: connect ?? settings.connectTimeoutMs,
      replyMs: response ?? settings.replyTimeoutMs,
      idleMs: idle ?? settings.idleTimeoutMs,
    }
  }
  /** By service; changed in place by a reload, for open connections. */
  const timeouts = new Map<string, Timeouts>()
  const openTimeouts = (service: string): Timeouts => {
    const known = timeouts.get(service) ?? toTimeouts(service)
    timeouts.set(service, known)
    return known
  }
  const maxAgeOf = (service: string): number =>
    configured.get(service)?.maxConnectionAgeMs ?? settings.maxConnectionAgeMs
  const budget = { left: maxConnections }
  const createPool = (
    service: string,
    { host, port, secure, pipeline, lookup, tls }: PoolAddress,
  ): Pool => {
    return new Pool({
      host,
      port,
      secure,
      lookup,
      tls,
      pipeline,
      timeouts: openTimeouts(service),
      // Getters: a reload changes open pools, too.
      get keepAliveMs() {
        return configured.get(service)?.keepAliveMs ?? settings.keepAliveMs
      },
      get maxAgeMs() {
        return maxAgeOf(service)
      },
      maxConnections,
      budget,
      maxWaiting: MAX_WAITING,
    })
  }
  const createHttp2Pool = (
    service: string,
    { host, port, secure, lookup, tls }: PoolAddress,
  ): Http2Pool => {
    return new Http2Pool({
      host,
      port,
      secure,
      lookup,
      tls,
      timeouts: openTimeouts(service),
      keepAliveMs: HTTP2_KEEP_ALIVE_MS,
      get maxAgeMs() {
        return maxAgeOf(service)
      },
      maxConnections,
      budget,
      maxWaiting: MAX_WAITING,
    })
  }
  return {
    of: (service) => {
      const counters = metrics?.services.of(service)
      return {
        balance: parseBalance(configured.get(service)?.balance ?? settings.balance),
        tls: configured.get(service)?.tls,
        host: configured.get(service)?.host,
        ejection,
        createPool: (address) => createPool(service, address),
        createHttp2Pool: (address) => createHttp2Pool(service, address),
        ...(findCaller && { findCaller }),
        onSkip: (node, reason) => log.warn({ service, node: node.id }, `node skipped: ${reason}`),
        onEject(node, forMs) {
          if (counters !== undefined) counters.ejections++
          log.warn({ service, node: node.id, forMs }, 'node ejected after failures')
        },
        onReturn: (node) => log.info({ service, node: node.id }, 'node available again'),
        onRetry: counters && (() => void counters.retries++),
      }
    },

    use(next) {
      ;({ settings } = next)
      configured = indexServices(next)
      for (const [service, current] of timeouts) Object.assign(current, toTimeouts(service))
    },
  }
}

function toEjection({ ejectionFailures, ejectionByStatus }: Settings): EjectionOptions {
  return { failuresInRow: ejectionFailures, countsStatus: ejectionByStatus }
}
