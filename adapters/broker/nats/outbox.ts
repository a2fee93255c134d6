import type { NatsConnection } from '@nats-io/transport-node'

/** Counts what was handed to a connection and may not have arrived: a server confirms all that came before a question. */
export interface Outbox {
  /** Bytes the server has not confirmed. */
  readonly bytes: number
  /** Something more was handed over. */
  readonly add: (connection: NatsConnection, bytes: number) => void
  /** The connection is lost. @returns how many messages may be, too. */
  readonly clear: () => number
}

export function createOutbox(): Outbox {
  let current: NatsConnection | undefined
  let messages = 0
  let bytes = 0
  let asking = false

  /** One question at a time: under load it stands for many messages. */
  function ask(connection: NatsConnection): void {
    const asked = { messages, bytes }
    asking = true
    connection.flush().then(
      () => {
        if (connection !== current) return
        messages -= asked.messages
        bytes -= asked.bytes
        asking = false
        if (messages > 0) ask(connection)
      },
      // It is lost, and whoever keeps it says so.
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
      if (!asking) ask(connection)
    },

    clear() {
      const lost = messages
      current = undefined
      messages = 0
      bytes = 0
      asking = false
      return lost
    },
  }
}
