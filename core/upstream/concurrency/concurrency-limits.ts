import type { Maybe } from '../../../lib/async/maybe.ts'
import type { EventLoopDelay } from '../../../lib/time/event-loop-delay.ts'
import type { Plugin } from '../../chain.ts'
import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import { toNetwork } from '../../limits/client-network.ts'
import type { ServiceTable } from '../../metrics/service-counters.ts'
import { toConsumerKey } from '../../plugin/compile-chain.ts'
import type { ConcurrencyOptions, Priority } from './concurrency-options.ts'
import { Limiter, type ShedReason, type Ticket } from './limiter.ts'

export interface ShedOptions {
  /** Priorities by {@link toConsumerKey}. They override the priority of a route. */
  readonly consumers: ReadonlyMap<string, Priority>
  /** Undefined if requests are not shed by event-loop delay. */
  readonly overload: { readonly aboveMs: number; readonly delay: EventLoopDelay } | undefined
}

/** Maximum number of idle limiters to retain. */
const MAX_IDLE = 10_000
const ROUTE = 'route:'

/** A request and its slot. */
interface Entry {
  readonly key: string
  readonly limiter: Limiter
  readonly ticket: Ticket
}

/** Current limits of a service or route. */
export interface LimitUsage {
  /** Empty for the limit of a route. */
  readonly service: string
  /** Empty for the limit of a service. */
  readonly route: string
  /** Maximum number of requests in progress; for limits per account, the lowest one. */
  limit: number
  /** Number of waiting requests. */
  waiting: number
}

/** Limiters of services and routes. They survive reloads, so that requests in progress still count. */
export class ConcurrencyLimits {
  readonly #limiters = new Map<string, Limiter>()
  readonly #entries = new Map<Exchange, Entry>()
  readonly #services: ServiceTable | undefined

  /** @param services counts shed requests. */
  constructor(services?: ServiceTable) {
    this.#services = services
  }

  /** Returns the current limits by service and route. */
  usage(): Iterable<LimitUsage> {
    const found = new Map<string, LimitUsage>()
    for (const [key, limiter] of this.#limiters) {
      const [per, scope = ''] = key.split(' ')
      const limit = limiter.limit * limiter.units
      const known = found.get(scope)
      if (known !== undefined) {
        known.limit = per === 'account' ? Math.min(known.limit, limit) : known.limit + limit
        known.waiting += limiter.waiting
        continue
      }
      const isRouteLimit = scope.startsWith(ROUTE)
      const name = isRouteLimit ? scope.slice(ROUTE.length) : scope
      found.set(scope, {
        ...{ service: isRouteLimit ? '' : name, route: isRouteLimit ? name : '' },
        ...{ limit, waiting: limiter.waiting },
      })
    }
    return found.values()
  }

  /** Creates the step before the handler that admits, queues or sheds a request. */
  createPlugin({ consumers, overload }: ShedOptions): Plugin {
    return {
      name: 'concurrency',
      onRoute: (x) => {
        const { route, upstream, account } = x
        if (route === undefined) return undefined
        const { rule } = route
        const options = rule?.concurrency ?? upstream?.concurrency
        if (overload === undefined && (options === undefined || options === 'off')) return undefined
        const consumerPriority = account && consumers.get(toConsumerKey(account))
        const priority = consumerPriority ?? rule?.priority ?? 'default'
        if (overload !== undefined) this.#checkDelay(x, priority, overload)
        if (options === undefined || options === 'off') return undefined
        return this.#enter(x, options, priority)
      },
      onDone: (x) => this.#release(x),
      close: () => overload?.delay.close(),
    }
  }

  #checkDelay(
    x: Exchange,
    priority: Priority,
    { aboveMs, delay }: NonNullable<ShedOptions['overload']>,
  ): void {
    if (priority === 'critical' || delay.ms <= (priority === 'batch' ? aboveMs : 2 * aboveMs))
      return
    throw this.#shed(
      x,
      `gateway overloaded: event-loop delay of ${Math.round(delay.ms)} ms exceeds shed_above (${aboveMs} ms${priority === 'batch' ? '' : ', doubled'}) for priority ${priority}`,
    )
  }

  #enter(x: Exchange, options: ConcurrencyOptions, priority: Priority): Maybe<void> {
    const key = toKey(x, options)
    const limiter = this.#open(key, options)
    if (options.per === 'node' && x.upstream !== undefined) {
      limiter.units = Math.max(1, x.upstream.usableNodes)
      x.upstream.maxPerNode = limiter.limit
    }
    const ticket: Ticket = {
      ...{ priority, state: 'new', startMs: 0, timer: undefined },
      onReady: noop,
      onShed: noop,
    }
    if (limiter.enter(ticket)) {
      this.#entries.set(x, { key, limiter, ticket })
      return undefined
    }
    if (!limiter.wait(ticket)) {
      throw this.#shed(x, describe(x, limiter, 'full'))
    }
    this.#entries.set(x, { key, limiter, ticket })
    return new Promise((resolve, reject) => {
      ticket.onReady = resolve
      ticket.onShed = (reason) => reject(this.#shed(x, describe(x, limiter, reason)))
    })
  }

  #release(x: Exchange): void {
    const entry = this.#entries.get(x)
    if (entry === undefined) return
    this.#entries.delete(x)
    const { key, limiter, ticket } = entry
    // Failed requests end early, and WebSockets late, so they are not sampled.
    const isSample = !x.aborted && x.failureKind === '' && x.status !== 101
    limiter.release(ticket, isSample ? x.upstreamReplyMs || performance.now() : 0)
    const { per, limit } = limiter.options
    const isDisposable = per === 'account' && limit !== 'auto'
    if (limiter.active + limiter.waiting === 0 && (isDisposable || this.#limiters.size > MAX_IDLE))
      this.#limiters.delete(key)
  }

  #open(key: string, options: ConcurrencyOptions): Limiter {
    let limiter = this.#limiters.get(key)
    if (limiter === undefined) {
      limiter = new Limiter(options)
      this.#limiters.set(key, limiter)
    } else if (limiter.options !== options) limiter.configure(options)
    return limiter
  }

  #shed(x: Exchange, detail: string): GatewayError {
    const service = x.route?.service ?? GATEWAY_ID
    const counters = this.#services?.of(x.upstream?.label ?? service)
    if (counters !== undefined) counters.overflows++
    x.failureKind = 'full'
    x.failure = detail
    return new GatewayError(service, 503, detail, { headers: ['retry-after', '1'] })
  }
}

function noop(): void {}

function toKey(x: Exchange, { per }: ConcurrencyOptions): string {
  const scope = toScope(x)
  if (per !== 'account') return `${per} ${scope}`
  const { account } = x
  const consumer = account === undefined ? toNetwork(x.clientAddress) : toConsumerKey(account)
  return `${per} ${scope} ${consumer}`
}

/** Neither service names nor route names contain colons or spaces. */
function toScope({ route, upstream }: Exchange): string {
  const { rule, service } = route!
  if (rule?.concurrency !== undefined) return `${ROUTE}${rule.name}`
  return upstream?.label ?? service
}

function describe({ route }: Exchange, { limit, options }: Limiter, reason: ShedReason): string {
  const { rule, service } = route!
  const owner = rule?.concurrency === undefined ? 'the service' : `route ${rule.name}`
  const limitText = options.limit === 'auto' ? `${limit} (auto)` : `${limit}`
  const cause =
    reason === 'timeout'
      ? `no slot became free within queue_timeout (${options.queueTimeoutMs} ms)`
      : `the queue (${options.queue}) is full`
  return `${service} is overloaded: limit of ${limitText} concurrent requests per ${options.per} reached and ${cause}; see concurrency of ${owner} in mx.yaml`
}
