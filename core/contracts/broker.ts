import type { Maybe } from '../../lib/async/maybe.ts'

/** A published message (specification: Broker message). */
export interface Message {
  /**
   * Names are lower case; `content-type` is the type of the body. Values are as in HTTP: one character per byte, no
   * control characters except tabs (RFC 9110 §5.5).
   */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Receives messages. Must not change the body, which other subscribers may share. */
export type MessageHandler = (message: Message) => Maybe<void>

/** Options of a subscription. */
export interface SubscribeOptions {
  /** Queue group: each message is delivered to one of its subscribers. Without a group, to every subscriber. */
  readonly queue?: string
}

/** Ends a subscription: its handler is no longer called, and pending messages are dropped. Idempotent. */
export type Unsubscribe = () => Maybe<void>

/**
 * Publish/subscribe messaging: at-most-once delivery, no persistence, no ordering guarantee (specification: Events).
 *
 * Adapters only transport messages. `domain/broker/broker.ts` validates names and limits, and handles slow and failing
 * subscribers. The handlers that it passes to adapters return immediately and never throw.
 */
export interface Broker {
  readonly name: string
  /** Maximum body size in bytes; undefined if the adapter has no limit. */
  readonly maxBodyBytes?: number
  /** Sends a message without delivery confirmation. The caller may reuse the body afterwards. */
  readonly publish: (topic: string, message: Message) => Maybe<void>
  /** Calls `handler` for every message published after the method returns or resolves. */
  readonly subscribe: (
    topic: string,
    handler: MessageHandler,
    options?: SubscribeOptions,
  ) => Maybe<Unsubscribe>
  /**
   * Publishes the number of messages dropped from a subscriber's queue, for statistics. Best effort: returns
   * immediately and never throws.
   */
  readonly reportDropped?: (topic: string, count: number) => void
  /** Ends all subscriptions. */
  readonly close?: () => Maybe<void>
}
