import type { NatsConnection } from '@nats-io/transport-node'

/**
 * Tracks unconfirmed messages: a PONG from the server confirms all messages sent before the PING.
 */
export interface Outbox {
  /** Unconfirmed bytes. */
  readonly bytes: number
  /** Adds a message. */
  readonly add: (connection: NatsConnection, bytes: number) => void
  /** Resets the counters on connection loss. @returns the number of messages that may be lost. */
  readonly clear: () => number
}

export function createOutbox(): Outbox {
  let current: NatsConnection | undefined
  let messages = 0
  let bytes = 0
  let isFlushing = false

  /** Sends one PING at a time; under load, each PING confirms many messages. */
  function flush(connection: NatsConnection): void {
    const flushed = { messages, bytes }
    isFlushing = true
    connection.flush().then(
      () => {
        if (connection !== current) return
        messages -= flushed.messages
        bytes -= flushed.bytes
        isFlushing = false
        if (messages > 0) flush(connection)
      },
      // The owner of the connection reports the loss.
      () => {},
    )
  }

  return {
    get bytes() {
      return bytes
    },

    add(connection, more) {
      current = connection
      messages++
      bytes += more
      if (!isFlushing) flush(connection)
    },

    clear() {
      const dropped = messages
      current = undefined
      messages = 0
      bytes = 0
      isFlushing = false
      return dropped
    },
  }
}
