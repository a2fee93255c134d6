import type { Message, MessageHandler } from '../../core/contracts/broker.ts'

/** Topic of a subscription, and the queue that shares it. */
export interface Subscription {
  readonly topic: string
  /** Name of the queue; undefined if not shared. */
  readonly queue: string | undefined
}

/**
 * Policy for a subscriber whose queue is full: drop new messages (`drop-new`), drop the oldest
 * pending messages (`drop-old`), or end the subscription (`end`).
 */
export type OverflowPolicy = (typeof WHEN_SLOW)[number]

export const WHEN_SLOW = ['drop-new', 'drop-old', 'end'] as const

export interface DeliveryOptions {
  /** Maximum number of pending messages per subscriber. @default 10000 */
  readonly maxWaiting?: number
  /**
   * Maximum size in bytes of pending messages per subscriber. A single message may be longer.
   *
   * @default 67108864
   */
  readonly maxWaitingBytes?: number
  /** @default 'drop-new' */
  readonly whenSlow?: OverflowPolicy
  /**
   * Called with the number of messages dropped since the last call: immediately for the first one,
   * then every `reportMs` while further messages are dropped, and when the subscriber has caught up
   * or its subscription has ended.
   *
   * @default a process warning
   */
  readonly onDrop?: (subscription: Subscription, count: number) => void
  /** Minimum interval in milliseconds between reports for a slow subscriber. @default 5000 */
  readonly reportMs?: number
  /**
   * Called with errors thrown by a subscriber. The message counts as delivered.
   *
   * @default a process warning
   */
  readonly onError?: (subscription: Subscription, error: unknown) => void
}

/** Maximum number of messages delivered per event loop tick. */
const MAX_PER_TICK = 100

/**
 * Queue of a subscriber, which decouples publishers from a handler that may be slow.
 *
 * Messages are delivered in order, one at a time, and never during {@link push}.
 */
export class Delivery {
  /** Number of messages dropped so far. */
  dropped = 0
  readonly #subscription: Subscription
  readonly #handler: MessageHandler
  readonly #maxWaiting: number
  readonly #maxWaitingBytes: number
  readonly #whenSlow: OverflowPolicy
  readonly #onEnd: () => void
  readonly #onDrop: NonNullable<DeliveryOptions['onDrop']>
  readonly #onError: NonNullable<DeliveryOptions['onError']>
  readonly #reportMs: number
  /** Set while drops still have to be reported. */
  #reportTimer: NodeJS.Timeout | undefined = undefined
  /** Messages being delivered, starting at `#at`, and messages added since then. */
  #batch: (Message | undefined)[] = []
  #at = 0
  #later: Message[] = []
  #bytes = 0
  /** Number of messages delivered in this event loop tick. */
  #deliveredInTick = 0
  /** Whether a tick is scheduled or a handler is pending. */
  #busy = false
  #closed = false
  /** Number of drops since the queue was last empty, and how many of them have been reported. */
  #lost = 0
  #reportedLost = 0

  /** @param onEnd called after closing if the subscriber was too slow (`end`). */
  constructor(
    subscription: Subscription,
    handler: MessageHandler,
    {
      maxWaiting = 10_000,
      maxWaitingBytes = 64 * 1024 * 1024,
      whenSlow = 'drop-new',
      onDrop = warnOfDrop,
      onError = warnOfError,
      reportMs = 5000,
    }: DeliveryOptions = {},
    onEnd: () => void = () => {},
  ) {
    this.#subscription = subscription
    this.#handler = handler
    this.#maxWaiting = maxWaiting
    this.#maxWaitingBytes = maxWaitingBytes
    this.#whenSlow = whenSlow
    this.#onEnd = onEnd
    this.#onDrop = onDrop
    this.#onError = onError
    this.#reportMs = reportMs
  }

  /** Adds a message. Returns immediately and never throws. */
  readonly push: (message: Message) => void = (message) => {
    if (this.#closed) return
    const size = sizeOf(message)
    if (!this.#hasRoom(size) && !this.#makeRoom(size)) return
    this.#later.push(message)
    this.#bytes += size
    if (this.#busy) return
    this.#busy = true
    setImmediate(this.#run)
  }

  /** Stops delivery and drops pending messages. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#batch = []
    this.#later = []
    this.#at = 0
    this.#bytes = 0
    this.#reportLost()
  }

  get #waiting(): number {
    return this.#batch.length - this.#at + this.#later.length
  }

  #hasRoom(size: number): boolean {
    const waiting = this.#waiting
    if (waiting >= this.#maxWaiting) return false
    return waiting === 0 || this.#bytes + size <= this.#maxWaitingBytes
  }

  /** Returns false if the message does not fit. */
  #makeRoom(size: number): boolean {
    if (this.#whenSlow === 'drop-old') {
      while (!this.#hasRoom(size) && this.#next() !== undefined) this.#lose(1)
      return true
    }
    if (this.#whenSlow === 'drop-new') {
      this.#lose(1)
      return false
    }
    this.#lose(this.#waiting + 1)
    this.close()
    this.#onEnd()
    return false
  }

  /** Reports the first drop immediately. */
  #lose(count: number): void {
    const isFirst = this.#lost === 0
    this.dropped += count
    this.#lost += count
    if (isFirst) this.#reportLost()
    else this.#reportTimer ??= setTimeout(() => this.#reportLost(), this.#reportMs).unref()
  }

  readonly #run = (): void => {
    this.#deliveredInTick = 0
    this.#pump()
  }

  #pump(): void {
    while (this.#deliveredInTick++ < MAX_PER_TICK) {
      const message = this.#next()
      if (message === undefined) {
        this.#busy = false
        this.#reportLost()
        this.#lost = 0
        this.#reportedLost = 0
        return
      }
      try {
        const pending = this.#handler(message)
        if (pending instanceof Promise) {
          pending.then(this.#continue, this.#fail)
          return
        }
      } catch (error) {
        this.#onError(this.#subscription, error)
      }
    }
    // Yields to the event loop, even if handlers complete synchronously or return resolved
    // promises.
    setImmediate(this.#run)
  }

  readonly #continue = (): void => {
    this.#pump()
  }

  readonly #fail = (error: unknown): void => {
    this.#onError(this.#subscription, error)
    this.#pump()
  }

  #next(): Message | undefined {
    if (this.#at === this.#batch.length) {
      this.#batch = this.#later
      this.#later = []
      this.#at = 0
    }
    const message = this.#batch[this.#at]
    if (message === undefined) return undefined
    // Allows garbage collection.
    this.#batch[this.#at] = undefined
    this.#at++
    this.#bytes -= sizeOf(message)
    return message
  }

  #reportLost(): void {
    clearTimeout(this.#reportTimer)
    this.#reportTimer = undefined
    const count = this.#lost - this.#reportedLost
    this.#reportedLost = this.#lost
    if (count > 0) this.#onDrop(this.#subscription, count)
  }
}

/** Approximate size of a message in bytes. */
function sizeOf({ headers, body }: Message): number {
  let size = body.length
  for (const name in headers) size += name.length + headers[name]!.length
  return size
}

export function warnOfDrop({ topic }: Subscription, count: number): void {
  process.emitWarning(`a subscriber of ${topic} is too slow: messages dropped: ${count}`)
}

function warnOfError({ topic }: Subscription, error: unknown): void {
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.emitWarning(`a subscriber of ${topic} failed: ${reason}`)
}
