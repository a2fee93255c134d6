import { type Chain, type ReportFault, runSteps, type Stage } from './chain.ts'
import { GATEWAY_ID, GatewayError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { RequestMetrics } from './metrics/request-metrics.ts'

export interface GatewayOptions {
  readonly chain: Chain
  /** Called for exceptions other than {@link GatewayError}, and for errors that cannot be sent. */
  readonly onFault: ReportFault
  /** Maximum time an exchange may wait for an asynchronous stage, in milliseconds; then 504. @default 60000 */
  readonly parkTimeoutMs?: () => number
  /** Counts every finished exchange. @default none */
  readonly metrics?: RequestMetrics | undefined
}

/** Interval between checks of parked exchanges. */
const SWEEP_MS = 500
/** Stage of errors of the chain itself. Plugin errors are reported under the plugin name. */
const CLOSE: Stage = { plugin: undefined, hook: 'close' }

/**
 * Runs every exchange of its listeners through the chain and sends exceptions as errors. An unexpected error is a 500
 * for its own request and does not affect other requests.
 */
export class Gateway {
  /** Number of unfinished exchanges. */
  inFlight = 0
  #chain: Chain
  readonly #onFault: ReportFault
  readonly #parkTimeoutMs: () => number
  readonly #metrics: RequestMetrics | undefined
  /** Exchanges waiting for a promise. */
  readonly #parked = new Set<Exchange>()
  readonly #sweeper: NodeJS.Timeout
  /** Replaced chains with exchanges in flight. */
  readonly #retired = new Set<Chain>()
  #idleWaiters: (() => void)[] = []

  constructor({ chain, onFault, parkTimeoutMs = () => 60_000, metrics }: GatewayOptions) {
    this.#chain = chain
    this.#onFault = onFault
    this.#parkTimeoutMs = parkTimeoutMs
    this.#metrics = metrics
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  /** Chain for new exchanges. */
  get chain(): Chain {
    return this.#chain
  }

  /** Serves one exchange. Never throws. */
  readonly handle = (x: Exchange): void => {
    const chain = this.#chain
    this.inFlight++
    chain.use.active++
    x.begin(chain, this.#finished, this.#onFault)
    try {
      if (x.malformed !== undefined) return x.fail(x.malformed)
      const pending = runSteps(chain.steps, x)
      if (pending !== undefined) this.#park(x, pending)
    } catch (error) {
      this.#fail(x, error)
    }
  }

  /** Switches new exchanges to another chain. The plugins of the old chain are closed after its last exchange. */
  use(chain: Chain): void {
    const old = this.#chain
    if (old === chain) return
    this.#chain = chain
    if (old.use.active === 0) void this.#closeChain(old)
    else this.#retired.add(old)
  }

  /** Resolves once no exchange is in flight. */
  idle(): Promise<void> {
    if (this.inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  /** Closes the plugins and reports their errors. Does not wait for exchanges in flight: see {@link idle}. */
  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    const retired = [...this.#retired]
    // Otherwise the last exchange of each chain would close it again.
    this.#retired.clear()
    for (const chain of retired) await this.#closeChain(chain)
    await this.#closeChain(this.#chain)
  }

  readonly #finished = (x: Exchange): void => {
    this.inFlight--
    this.#metrics?.count(x)
    const { use } = x.chain
    if (--use.active === 0 && this.#retired.size > 0) this.#closeRetired(use)
    if (this.inFlight > 0 || this.#idleWaiters.length === 0) return
    const waiters = this.#idleWaiters
    this.#idleWaiters = []
    for (const resolve of waiters) resolve()
  }

  #closeRetired(use: Chain['use']): void {
    for (const chain of this.#retired)
      if (chain.use === use && this.#retired.delete(chain)) void this.#closeChain(chain)
  }

  #park(x: Exchange, pending: Promise<void>): void {
    this.#parked.add(x)
    pending.then(
      () => this.#parked.delete(x),
      (error) => {
        this.#parked.delete(x)
        this.#fail(x, error)
      },
    )
  }

  #fail(x: Exchange, thrown: unknown): void {
    const stage = x.chain.stages.steps[x.step]
    if (!(thrown instanceof GatewayError)) this.#onFault(thrown, x, stage)
    try {
      x.abortWith(GatewayError.from(thrown, x.route?.service))
    } catch (fault) {
      // The error cannot be sent because it has a malformed header.
      this.#onFault(fault, x, stage)
      x.abortWith(GatewayError.from(fault))
    }
  }

  #sweep(): void {
    const nowMs = performance.now()
    this.#metrics?.adapt(nowMs)
    const timeoutMs = this.#parkTimeoutMs()
    for (const x of this.#parked) {
      if (x.startMs > nowMs - timeoutMs) continue
      this.#parked.delete(x)
      // Once a response has begun, the handler handles timeouts.
      if (x.answered) continue
      const detail = `gateway timeout: no response within ${timeoutMs} ms`
      x.abortWith(new GatewayError(x.route?.service ?? GATEWAY_ID, 504, detail))
    }
  }

  async #closeChain(chain: Chain): Promise<void> {
    try {
      await chain.close(this.#onFault)
    } catch (error) {
      this.#onFault(error, undefined, CLOSE)
    }
  }
}
