import { type Chain, type ReportFault, runSteps } from './chain.ts'
import { GatewayError } from './errors.ts'
import { Exchange } from './exchange.ts'
import { appendParsed, HeaderList } from './http/headers.ts'

/**
 * A GET request of the gateway itself, such as the background refresh of a stored response. It repeats a routed and
 * authorized request of a client, as the same caller, and discards the response.
 */
export class InternalExchange extends Exchange {
  readonly #address: string
  readonly #timer: NodeJS.Timeout

  /**
   * @param source request to repeat; not changed.
   * @param timeoutMs time until the request is canceled.
   */
  constructor(source: Exchange, timeoutMs: number) {
    const headers = new HeaderList()
    const { flat } = source.headers
    for (let i = 0; i < flat.length; i += 2) appendParsed(headers, flat[i]!, flat[i + 1]!)
    headers.ascii = source.headers.ascii
    super('GET', source.path, source.query, source.host, headers, source.secure, 0, false)
    this.#address = source.clientAddress
    this.listener = source.listener
    this.id = source.id
    this.relayed = source.relayed
    this.namespace = source.namespace
    this.session = source.session
    this.hasCaller = source.hasCaller
    this.isCrossNamespace = source.isCrossNamespace
    this.authorizedTarget = source.authorizedTarget
    this.beforeProxy = source.beforeProxy
    this.route = source.route
    this.proxied = source.proxied
    this.handler = source.handler
    this.explicitTarget = source.explicitTarget
    this.upstream = source.upstream
    this.#timer = setTimeout(() => this.cancel('timeout'), timeoutMs).unref()
  }

  /** Runs the steps that follow `onForward`. Resolves once they have run; the response may still be in flight. */
  async forward(chain: Chain, onFinish: () => void, onFault: ReportFault): Promise<void> {
    this.begin(chain, onFinish, onFault)
    try {
      await runSteps(chain.forward, this)
    } catch (error) {
      if (!(error instanceof GatewayError)) onFault(error, this, undefined)
      this.abortWith(GatewayError.from(error, this.route?.service))
    }
  }

  /** Ends the request. Ignored after its end. */
  cancel(reason: string): void {
    this.abortWith(new GatewayError(this.route?.service ?? '', 504, `request canceled: ${reason}`))
  }

  get remoteAddress(): string {
    return this.#address
  }

  tunnel(): Promise<void> {
    return Promise.reject(new TypeError('an internal request is not a WebSocket'))
  }

  accept(): undefined {
    return undefined
  }

  protected transmit(): void {
    this.finish()
  }

  protected transmitHead(): void {}

  protected transmitChunk(): boolean {
    return true
  }

  protected transmitEnd(): void {
    this.finish()
  }

  protected override finish(): void {
    clearTimeout(this.#timer)
    super.finish()
  }

  protected closeConnection(): void {
    this.abort()
  }

  protected pauseRead(): void {}

  protected resumeRead(): void {}
}
