import type { Maybe } from '../../lib/async/maybe.ts'

/** What is published: bytes, and what is said about them (specification: Broker message). */
export interface Message {
  /**
   * Named values, names in lower case; `content-type` says what the body is. Values are written as
   * in HTTP: one character a byte, no control characters but the tab (RFC 9110 §5.5).
   */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Receives messages. A body may be shared with other subscribers: it is not to be changed. */
export type MessageHandler = (message: Message) => Maybe<void>

/** How a subscriber shares a topic with others. */
export interface SubscribeOptions {
  /** Of all subscribers of the topic that name the same queue, one gets a message; without it every one does. */
  readonly queue?: string
}

/** Ends a subscription: its handler is not called any more, and what waits for it is dropped. Calling it again does nothing. */
export type Unsubscribe = () => Maybe<void>

/**
 * Carries messages from many publishers to many subscribers of a topic: fire-and-forget, at most
 * once, no persistence, no ordering guarantee (specification: Events).
 *
 * Adapters only carry. Names, limits, and subscribers that are slow or throw belong to what stands
 * in front of each of them, `domain/broker/broker.ts`: the handlers it hands on return at once and never throw.
 */
export interface Broker {
  readonly name: string
  /** Longest body it carries, bytes; undefined: it has no limit of its own. */
  readonly maxBodyBytes?: number
  /** Hands a message over, which says nothing about who gets it. The caller may reuse the body afterwards. */
  readonly publish: (topic: string, message: Message) => Maybe<void>
  /** Calls `handler` for every message published once the subscription, or the promise of it, is there. */
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
