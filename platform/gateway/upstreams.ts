import type { RequestMetrics } from '../../core/metrics/request-metrics.ts'
import { DEFAULT_DOMAIN, toServiceLabel } from '../../core/registry/service.ts'
import { parseBalance } from '../../core/upstream/balance/parse-balance.ts'
import type { CheckLoad } from '../../core/upstream/health/active-checks.ts'
import type { Timeouts } from '../../core/upstream/http1/connection-options.ts'
import { Http2Pool } from '../../core/upstream/http2/pool.ts'
import type { PoolAddress } from '../../core/upstream/node/pool-address.ts'
import { mergePolicies } from '../../core/upstream/policies/merge-policies.ts'
import { Pool } from '../../core/upstream/pool/pool.ts'
import type { FindUpstreamOptions, UpstreamOptions } from '../../core/upstream/upstream-options.ts'
import { indexServices } from '../config/configured-services.ts'
import {
  limitSettings,
  type RegistrySettings,
  readRegistrySettings,
} from '../config/services/registry-settings.ts'
import type { Configuration } from '../config/types.ts'
import type { Log } from '../process/log.ts'
import type { DrainedNodes } from './nodes/drained-nodes.ts'

/** Connection pools and load balancing of services according to the current configuration. */
export interface Upstreams {
  readonly of: FindUpstreamOptions
  /** Applies another configuration. Users of {@link of} must call it again. */
  readonly use: (configuration: Configuration) => void
}

export interface UpstreamsOptions {
  /** Maximum total number of connections to all backends. */
  readonly maxConnections: number
  readonly findCaller: UpstreamOptions['findCaller']
  readonly shareCheck?: UpstreamOptions['shareCheck']
  /** Nodes that receive no requests. @default none */
  readonly drained?: DrainedNodes
  /** Counts retries and ejections. */
  readonly metrics?: RequestMetrics | undefined
  readonly log: Log
}

/** Settings of a service, which are updated in place for open connections. */
interface ServiceState {
  readonly service: string
  readonly domain: string
  /** Settings from the registry, within the limits of the domain. */
  registrySettings: RegistrySettings
  limited: RegistrySettings
  readonly timeouts: Timeouts
  /** Problems that have been logged. */
  readonly warned: Set<string>
}

/**
 * Maximum number of warnings about one service in the registry, because its owner may change it
 * repeatedly.
 */
const MAX_WARNINGS = 10
/**
 * Maximum number of services whose open connections follow a reload, because callers may name
 * unknown services.
 */
const MAX_STATES = 100_000
/** Idle timeout of HTTP/2 connections. Backends close them gracefully (GOAWAY). */
const HTTP2_KEEP_ALIVE_MS = 60_000
/** Maximum number of requests queued for a connection to one node. */
const MAX_WAITING = 1024

export function createUpstreams(
  configuration: Configuration,
  { maxConnections, findCaller, shareCheck, drained, metrics, log }: UpstreamsOptions,
): Upstreams {
  let { settings, config } = configuration
  let configured = indexServices(configuration)
  /**
   * Only services in the default domain have settings in the file, because tenants may register the
   * same names in their domains.
   */
  const ownOf = ({ service, domain }: Pick<ServiceState, 'service' | 'domain'>) =>
    domain === DEFAULT_DOMAIN ? configured.get(service) : undefined
  const toTimeouts = (
    of: Pick<ServiceState, 'service' | 'domain'>,
    { timeouts = {} }: RegistrySettings,
  ): Timeouts => {
    const { connect, response, idle } = ownOf(of)?.timeouts ?? {}
    return {
      connectMs: connect ?? timeouts.connect ?? settings.connectTimeoutMs,
      replyMs: response ?? timeouts.response ?? settings.replyTimeoutMs,
      idleMs: idle ?? timeouts.idle ?? settings.idleTimeoutMs,
    }
  }
  /** States by domain and service. */
  const states = new Map<string, ServiceState>()
  /** Load of health checks by domain. */
  const checkLoads = new Map<string, CheckLoad>()
  const openLoad = (domain: string): CheckLoad => {
    const load = checkLoads.get(domain) ?? { nodes: 0 }
    checkLoads.set(domain, load)
    return load
  }
  const openState = (service: string, domain: string): ServiceState => {
    const key = `${domain}/${service}`
    const existing = states.get(key)
    if (existing !== undefined) return existing
    const timeouts = toTimeouts({ service, domain }, {})
    const state = {
      service,
      domain,
      registrySettings: {},
      limited: {},
      timeouts,
      warned: new Set<string>(),
    }
    if (states.size < MAX_STATES) states.set(key, state)
    return state
  }
  const refresh = (state: ServiceState): void => {
    state.limited = limitSettings(state.registrySettings, settings, state.domain)
    Object.assign(state.timeouts, toTimeouts(state, state.limited))
  }
  const maxAgeOf = (state: ServiceState): number =>
    ownOf(state)?.maxConnectionAgeMs ??
    state.limited.maxConnectionAgeMs ??
    settings.maxConnectionAgeMs
  const toEffectiveOptions = (state: ServiceState) => {
    const ownSettings = ownOf(state)
    const { limited } = state
    const host = ownSettings?.host ?? limited.host
    const balance = parseBalance(ownSettings?.balance ?? limited.balance ?? settings.balance)
    // A table uses 128 KiB per service, and tenants may register thousands of services.
    const isTable = balance.kind === 'maglev' && state.domain !== DEFAULT_DOMAIN
    return {
      balance: isTable ? { ...balance, kind: 'hash' as const } : balance,
      host: host === 'client' ? undefined : host,
      policies: mergePolicies(
        settings.zone,
        config.policies,
        limited.policies,
        ownSettings?.policies,
      ),
    }
  }
  const budget = { remaining: maxConnections }
  const createPool = (
    state: ServiceState,
    { host, port, secure, pipeline, lookup, tls, minKeepAliveMs = 0 }: PoolAddress,
  ): Pool => {
    return new Pool({
      host,
      port,
      secure,
      lookup,
      tls,
      pipeline,
      timeouts: state.timeouts,
      // Getters, so that a reload also affects open pools.
      get keepAliveMs() {
        const own = ownOf(state)?.keepAliveMs ?? state.limited.keepAliveMs
        return Math.max(own ?? settings.keepAliveMs, minKeepAliveMs)
      },
      get maxAgeMs() {
        return maxAgeOf(state)
      },
      maxConnections,
      budget,
      maxWaiting: MAX_WAITING,
    })
  }
  const createHttp2Pool = (
    state: ServiceState,
    { host, port, secure, lookup, tls }: PoolAddress,
  ): Http2Pool => {
    return new Http2Pool({
      host,
      port,
      secure,
      lookup,
      tls,
      timeouts: state.timeouts,
      keepAliveMs: HTTP2_KEEP_ALIVE_MS,
      get maxAgeMs() {
        return maxAgeOf(state)
      },
      maxConnections,
      budget,
      maxWaiting: MAX_WAITING,
    })
  }
  return {
    of: (service, domain = DEFAULT_DOMAIN) => {
      const counters = metrics?.services.of(toServiceLabel(service, domain))
      const state = openState(service, domain)
      const warn = (key: string, problem: string): void => {
        if (state.warned.size >= MAX_WARNINGS || state.warned.has(`${key} ${problem}`)) return
        state.warned.add(`${key} ${problem}`)
        log.warn({ service, key }, `setting in the registry ignored: ${key} ${problem}`)
      }
      return {
        domain,
        ...toEffectiveOptions(state),
        tls: ownOf(state)?.tls,
        onSettings(metadata) {
          state.registrySettings = readRegistrySettings(metadata, domain, warn)
          refresh(state)
          return toEffectiveOptions(state)
        },
        createPool: (address) => createPool(state, address),
        createHttp2Pool: (address) => createHttp2Pool(state, address),
        ...(findCaller && { findCaller }),
        shareCheck,
        checkLoad: openLoad(domain),
        isDrained: (id) => drained?.has({ domain, service, id }) ?? false,
        onSkip: (node, reason) => log.warn({ service, node: node.id }, `node skipped: ${reason}`),
        onEject(node, forMs) {
          if (counters !== undefined) counters.ejections++
          log.warn({ service, node: node.id, forMs }, 'node ejected after failures')
        },
        onHealth(node, reason) {
          if (reason === '') log.info({ service, node: node.id }, 'health checks pass again')
          else log.warn({ service, node: node.id, reason }, 'health checks fail; node not used')
        },
        onBreaker(node, isOpen) {
          const fields = { service, ...(node && { node: node.id }) }
          if (isOpen) log.warn(fields, 'circuit breaker open after failures')
          else log.info(fields, 'circuit breaker closed')
        },
        onReturn: (node) => log.info({ service, node: node.id }, 'node available again'),
        onRetry: counters && (() => void counters.retries++),
      }
    },

    use(next) {
      ;({ settings, config } = next)
      configured = indexServices(next)
      for (const state of states.values()) refresh(state)
    },
  }
}
