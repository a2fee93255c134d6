import { type Chain, type ReportFault, runSteps, type Stage } from './chain.ts'
import { GATEWAY_ID, GatewayError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { RequestMetrics } from './metrics/request-metrics.ts'

export interface GatewayOptions {
  readonly chain: Chain
  /** Told of everything thrown that is no {@link GatewayError}, and of those that answer nobody. */
  readonly onFault: ReportFault
  /** Milliseconds an exchange may wait for a stage that answers later, then 504; asked for at every look. @default 60000 */
  readonly parkTimeoutMs?: () => number
  /** Told of every exchange that is over. @default nobody counts them */
  readonly metrics?: RequestMetrics | undefined
}

/** How often parked exchanges are looked through. */
const SWEEP_MS = 500
/** Of the chain itself: what its plugins throw, it reports in their name. */
const CLOSE: Stage = { plugin: undefined, hook: 'close' }

/**
 * Runs every exchange of its listeners through the chain, and answers what the
 * chain throws: a fault costs its own request a 500 and nothing else.
 */
export class Gateway {
  /** Exchanges not finished yet. */
  inFlight = 0
  #chain: Chain
  readonly #onFault: ReportFault
  readonly #parkTimeoutMs: () => number
  readonly #metrics: RequestMetrics | undefined
  /** Exchanges that wait for a promise. */
  readonly #parked = new Set<Exchange>()
  readonly #sweeper: NodeJS.Timeout
  /** Replaced chains that still serve exchanges. */
  readonly #leaving = new Set<Chain>()
  #onIdle: (() => void)[] = []

  constructor({ chain, onFault, parkTimeoutMs = () => 60_000, metrics }: GatewayOptions) {
    this.#chain = chain
    this.#onFault = onFault
    this.#parkTimeoutMs = parkTimeoutMs
    this.#metrics = metrics
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  /** Serves new exchanges. */
  get chain(): Chain {
    return this.#chain
  }

  /** Serves one exchange. Never throws. */
  readonly handle = (x: Exchange): void => {
    const chain = this.#chain
    this.inFlight++
    chain.active++
    x.begin(chain, this.#finished, this.#onFault)
    try {
      if (x.malformed !== undefined) return x.fail(x.malformed)
      const pending = runSteps(chain.steps, x)
      if (pending !== undefined) this.#park(x, pending)
    } catch (error) {
      this.#fail(x, error)
    }
  }

  /** Serves new exchanges with another chain; the plugins of the old one are closed after its last exchange. */
  use(chain: Chain): void {
    const old = this.#chain
    if (old === chain) return
    this.#chain = chain
    if (old.active === 0) void this.#closeChain(old)
    else this.#leaving.add(old)
  }

  /** Resolves once no exchange is in flight. */
  idle(): Promise<void> {
    if (this.inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onIdle.push(resolve))
  }

  /** Closes the plugins; what they throw is reported. Exchanges still in flight are not waited for: see {@link idle}. */
  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    const leaving = [...this.#leaving]
    // Their last exchange is not to close them again.
    this.#leaving.clear()
    for (const chain of leaving) await this.#closeChain(chain)
    await this.#closeChain(this.#chain)
  }

  readonly #finished = (x: Exchange): void => {
    this.inFlight--
    this.#metrics?.count(x)
    const { chain } = x
    if (--chain.active === 0 && this.#leaving.delete(chain)) void this.#closeChain(chain)
    if (this.inFlight > 0 || this.#onIdle.length === 0) return
    const waiting = this.#onIdle
    this.#onIdle = []
    for (const resolve of waiting) resolve()
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
      x.giveUp(GatewayError.from(thrown, x.route?.service))
    } catch (fault) {
      // An error that cannot be sent: a malformed header field in it.
      this.#onFault(fault, x, stage)
      x.giveUp(GatewayError.from(fault))
    }
  }

  #sweep(): void {
    const nowMs = performance.now()
    this.#metrics?.adapt(nowMs)
    const oldest = nowMs - this.#parkTimeoutMs()
    for (const x of this.#parked) {
      if (x.startMs > oldest) continue
      this.#parked.delete(x)
      // One that has begun to answer is no longer the chain's, but its handler's.
      if (!x.answered)
        x.giveUp(new GatewayError(x.route?.service ?? GATEWAY_ID, 504, 'no stage answered in time'))
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
