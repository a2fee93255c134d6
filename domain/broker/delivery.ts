import type { Message, MessageHandler } from '../../core/contracts/broker.ts'

/** Whose messages they are: a topic, and the queue that shares it. */
export interface Subscription {
  readonly topic: string
  /** Undefined: it shares with nobody. */
  readonly queue: string | undefined
}

/**
 * What becomes of a subscriber whose messages come faster than it takes them, when no more may wait: it goes
 * without those that come (`drop-new`) or those that wait longest (`drop-old`), or it is dropped itself (`end`).
 */
export type OverflowPolicy = (typeof WHEN_SLOW)[number]

export const WHEN_SLOW = ['drop-new', 'drop-old', 'end'] as const

export interface DeliveryOptions {
  /** Most messages that wait for one subscriber. @default 10000 */
  readonly maxWaiting?: number
  /** Most bytes that wait for one subscriber; a single message may be longer. @default 67108864 */
  readonly maxWaitingBytes?: number
  /** @default 'drop-new' */
  readonly whenSlow?: OverflowPolicy
  /**
   * Called with the number of messages dropped since the last call: for the first one at once, then every `reportMs` while more
   * are dropped, and when the subscriber has caught up or its subscription has ended.
   *
   * @default a process warning
   */
  readonly onDrop?: (subscription: Subscription, count: number) => void
  /** Shortest time between two reports of a subscriber that stays slow, milliseconds. @default 5000 */
  readonly reportMs?: number
  /** Told of what a subscriber threw; its message counts as delivered. @default a process warning */
  readonly onError?: (subscription: Subscription, error: unknown) => void
}

/** Messages handed over before the event loop gets its turn. */
const TURN_MAX = 100

/**
 * The messages of one subscriber, between a publisher who must not wait and a handler that may be slow.
 *
 * Messages wait in order and are handed over one at a time, never during {@link push}.
 */
export class Delivery {
  /** Messages lost so far. */
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
  /** Set while losses wait to be reported. */
  #reportTimer: NodeJS.Timeout | undefined = undefined
  /** Those being handed over, from `#at` on, and those that came since. */
  #batch: (Message | undefined)[] = []
  #at = 0
  #later: Message[] = []
  #bytes = 0
  /** Messages handed over since the event loop had its turn. */
  #handed = 0
  /** A turn is scheduled, or a handler is waited for. */
  #busy = false
  #closed = false
  /** Lost since the subscriber last had no message waiting, and how many of these were told of. */
  #lost = 0
  #told = 0

  /** @param onEnd called when the subscriber was too slow to be kept (`end`): it is closed then. */
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

  /** Takes a message. Returns at once and never throws. */
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

  /** Hands nothing over any more; what waits is let go. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#batch = []
    this.#later = []
    this.#at = 0
    this.#bytes = 0
    this.#tellLost()
  }

  get #waiting(): number {
    return this.#batch.length - this.#at + this.#later.length
  }

  #hasRoom(size: number): boolean {
    const waiting = this.#waiting
    if (waiting >= this.#maxWaiting) return false
    return waiting === 0 || this.#bytes + size <= this.#maxWaitingBytes
  }

  /** False: there is none for a message of that size. */
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

  /** Reports the first loss at once. */
  #lose(count: number): void {
    const isFirst = this.#lost === 0
    this.dropped += count
    this.#lost += count
    if (isFirst) this.#tellLost()
    else this.#reportTimer ??= setTimeout(() => this.#tellLost(), this.#reportMs).unref()
  }

  readonly #run = (): void => {
    this.#handed = 0
    this.#pump()
  }

  #pump(): void {
    while (this.#handed++ < TURN_MAX) {
      const message = this.#next()
      if (message === undefined) {
        this.#busy = false
        this.#tellLost()
        this.#lost = 0
        this.#told = 0
        return
      }
      try {
        const pending = this.#handler(message)
        if (pending instanceof Promise) {
          pending.then(this.#goOn, this.#fail)
          return
        }
      } catch (error) {
        this.#onError(this.#subscription, error)
      }
    }
    // Others have their turn: also where handlers are done at once, or their promises are resolved already.
    setImmediate(this.#run)
  }

  readonly #goOn = (): void => {
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
    // Not kept any longer than it is needed.
    this.#batch[this.#at] = undefined
    this.#at++
    this.#bytes -= sizeOf(message)
    return message
  }

  #tellLost(): void {
    clearTimeout(this.#reportTimer)
    this.#reportTimer = undefined
    const count = this.#lost - this.#told
    this.#told = this.#lost
    if (count > 0) this.#onDrop(this.#subscription, count)
  }
}

/** About what a message takes, bytes. */
function sizeOf({ headers, body }: Message): number {
  let size = body.length
  for (const name in headers) size += name.length + headers[name]!.length
  return size
}

/** Reports dropped messages as a process warning. */
export function warnOfDrop({ topic }: Subscription, count: number): void {
  process.emitWarning(`a subscriber of ${topic} is too slow: messages dropped: ${count}`)
}

function warnOfError({ topic }: Subscription, error: unknown): void {
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.emitWarning(`a subscriber of ${topic} failed: ${reason}`)
}
