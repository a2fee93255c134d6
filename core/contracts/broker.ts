import type { Maybe } from '../../lib/async/maybe.ts'

/** A published message (specification: Broker message). */
export interface Message {
  /**
   * Names in lower case; `content-type` is the type of the body. Values are as in HTTP: one character per byte, no control characters
   * except the tab (RFC 9110 §5.5).
   */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Receives messages. Must not change a body, which may be shared with other subscribers. */
export type MessageHandler = (message: Message) => Maybe<void>

/** Options of a subscription. */
export interface SubscribeOptions {
  /** Queue group: one of its subscribers receives each message. Without it, every subscriber does. */
  readonly queue?: string
}

/** Ends a subscription: its handler is not called any more, and pending messages are dropped. Idempotent. */
export type Unsubscribe = () => Maybe<void>

/**
 * Publish/subscribe messaging: at-most-once delivery, no persistence, no ordering guarantee (specification: Events).
 *
 * Adapters only transport messages. `domain/broker/broker.ts` validates names and limits, and handles slow and failing subscribers:
 * handlers that adapters receive return at once and never throw.
 */
export interface Broker {
  readonly name: string
  /** Maximum size of a body, bytes; undefined: no limit of the adapter. */
  readonly maxBodyBytes?: number
  /** Sends a message, without any confirmation of delivery. The caller may reuse the body afterwards. */
  readonly publish: (topic: string, message: Message) => Maybe<void>
  /** Calls `handler` for every message published after this returns or resolves. */
  readonly subscribe: (
    topic: string,
    handler: MessageHandler,
    options?: SubscribeOptions,
  ) => Maybe<Unsubscribe>
  /** Publishes, for statistics, how many messages the queue of a subscriber dropped. Best effort: returns at once and never throws. */
  readonly reportDropped?: (topic: string, count: number) => void
  /** Ends all subscriptions. */
  readonly close?: () => Maybe<void>
}
