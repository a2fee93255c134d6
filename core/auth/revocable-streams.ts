import { performance } from 'node:perf_hooks'
import type { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'

export interface OpenStreamsOptions {
  /** Returns the error that ends an exchange, or undefined if it may continue. */
  readonly reauthorize: (
    x: Exchange,
  ) => GatewayError | undefined | Promise<GatewayError | undefined>
  /** Creates the error for an exchange whose account was deleted. */
  readonly toRevokedError: (x: Exchange) => GatewayError
  readonly nowMs: () => number
}

/** Interval between checks for expired tokens. */
const CHECK_MS = 1000

/**
 * Open streams and WebSockets of authenticated callers, which end when access is revoked. The owning plugin uses
 * `onReply`, `onDone` and `close` as its hooks.
 */
export class OpenStreams {
  readonly #options: OpenStreamsOptions
  readonly #open = new Set<Exchange>()
  #timer: NodeJS.Timeout | undefined = undefined
  /** `performance.now()` of the last review. */
  #reviewedMs = 0

  constructor(options: OpenStreamsOptions) {
    this.#options = options
  }

  readonly onReply = (x: Exchange): void => {
    if (!x.streaming || x.route === undefined) return
    this.#open.add(x)
    this.#timer ??= setInterval(() => this.#endExpired(), CHECK_MS).unref()
    // Authorized before the review but not listed yet. Deferred because the response has not started.
    if (x.startMs <= this.#reviewedMs) queueMicrotask(() => this.#reauthorize(x))
  }

  readonly onDone = (x: Exchange): void => {
    if (this.#timer === undefined || !this.#open.delete(x) || this.#open.size > 0) return
    this.close()
  }

  readonly close = (): void => {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Authorizes all streams again. */
  readonly review = (): void => {
    this.#reviewedMs = performance.now()
    for (const x of [...this.#open]) this.#reauthorize(x)
  }

  #reauthorize(x: Exchange): void {
    const reason = this.#options.reauthorize(x)
    if (!(reason instanceof Promise)) {
      if (reason !== undefined) x.revoke(reason)
    } else void reason.then((late) => late && x.revoke(late))
  }

  #endExpired(): void {
    const nowMs = this.#options.nowMs()
    for (const x of [...this.#open])
      if (x.session !== undefined && x.session.endsMs <= nowMs)
        x.revoke(this.#options.toRevokedError(x))
  }
}
