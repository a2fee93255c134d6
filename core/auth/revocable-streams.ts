import { performance } from 'node:perf_hooks'
import type { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'

export interface OpenStreamsOptions {
  /** Why an exchange may not go on; undefined: it may. */
  readonly judge: (x: Exchange) => GatewayError | undefined | Promise<GatewayError | undefined>
  /** Why one may not go on whose caller is known no longer. */
  readonly toEnded: (x: Exchange) => GatewayError
  /** Unix time. */
  readonly nowMs: () => number
}

/** How soon after its end a token is good for nothing, with streams too. */
const CHECK_MS = 1000

/**
 * Replies in pieces and WebSockets of callers that were let in once: they end when their callers would not be let in any more.
 * `onReply`, `onDone` and `close` are those of the plugin it works for.
 */
export class OpenStreams {
  readonly #options: OpenStreamsOptions
  readonly #open = new Set<Exchange>()
  #timer: NodeJS.Timeout | undefined = undefined
  /** When they were judged last, `performance.now()`. */
  #reviewedMs = 0

  constructor(options: OpenStreamsOptions) {
    this.#options = options
  }

  readonly onReply = (x: Exchange): void => {
    if (!x.streaming || x.route === undefined) return
    this.#open.add(x)
    this.#timer ??= setInterval(() => this.#endOutlived(), CHECK_MS).unref()
    // Let in before, and silent until now. Later: its reply has not begun yet.
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

  /** Judges all of them again. */
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
