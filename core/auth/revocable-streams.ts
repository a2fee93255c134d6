import { performance } from 'node:perf_hooks'
import type { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'

export interface OpenStreamsOptions {
  /** Returns why an exchange must end; undefined if it may continue. */
  readonly judge: (x: Exchange) => GatewayError | undefined | Promise<GatewayError | undefined>
  /** The error for an exchange whose account no longer exists. */
  readonly toEnded: (x: Exchange) => GatewayError
  readonly nowMs: () => number
}

/** Interval of the expiry check of tokens. */
const CHECK_MS = 1000

/**
 * Open streams and WebSockets of authenticated callers: ended when access is revoked. `onReply`, `onDone` and `close`
 * are hooks of the owning plugin.
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
    this.#timer ??= setInterval(() => this.#endOutlived(), CHECK_MS).unref()
    // It was authorized before the review and had no response yet. Deferred: its response has not started.
    if (x.startMs <= this.#reviewedMs) queueMicrotask(() => this.#judge(x))
  }

  readonly onDone = (x: Exchange): void => {
    if (this.#timer === undefined || !this.#open.delete(x) || this.#open.size > 0) return
    this.close()
  }

  readonly close = (): void => {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Authorizes all of them again. */
  readonly review = (): void => {
    this.#reviewedMs = performance.now()
    for (const x of [...this.#open]) this.#judge(x)
  }

  #judge(x: Exchange): void {
    const reason = this.#options.judge(x)
    if (!(reason instanceof Promise)) {
      if (reason !== undefined) x.revoke(reason)
    } else void reason.then((late) => late && x.revoke(late))
  }

  #endOutlived(): void {
    const nowMs = this.#options.nowMs()
    for (const x of [...this.#open])
      if (x.session !== undefined && x.session.endsMs <= nowMs) x.revoke(this.#options.toEnded(x))
  }
}
