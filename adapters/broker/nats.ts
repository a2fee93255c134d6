import type { NatsConnection } from '@nats-io/transport-node'
import type { Broker, Message } from '../../core/contracts/broker.ts'
import { GatewayError } from '../../core/errors.ts'
import { brokerError, brokerUnavailable } from '../../domain/broker/errors.ts'
import { createNatsLink, type NatsLinkOptions } from '../nats/connection.ts'
import { formatNatsAddress } from '../nats/url.ts'
import { encodeHeaders } from './nats/headers.ts'
import { createOutbox } from './nats/outbox.ts'
import { createSubscriptions } from './nats/subscriptions.ts'

export interface NatsBrokerOptions extends Omit<NatsLinkOptions, 'onUp' | 'onDown'> {
  /** Maximum number of unconfirmed bytes; publishing beyond it fails with 503. @default 67108864 */
  readonly maxUnconfirmedBytes?: number
}

export interface NatsBroker extends Broker {
  /**
   * Settles when each server has been tried once.
   *
   * @throws {Error} with `denied` set if a server rejected the connection.
   */
  readonly tried: Promise<void>
}

/** Approximate overhead of a message. */
const MESSAGE_BYTES = 256

/**
 * Broker on a NATS server or cluster, shared by any number of gateways and other programs. A topic
 * is the subject `<prefix>.broker.<topic>`; queues are NATS queue groups, headers are NATS headers.
 *
 * Without a connection, publishing and subscribing fail with 503. Existing subscriptions resume
 * after a reconnect and miss the messages in between. Messages in flight may be lost when the
 * connection breaks; a warning reports their number.
 */
export function createNatsBroker(options: NatsBrokerOptions): NatsBroker {
  const { maxUnconfirmedBytes = 64 * 1024 * 1024, ...linkOptions } = options
  const { address, onWarning = (message) => process.emitWarning(message) } = options
  const toSubject = (topic: string): string => `${address.prefix}.broker.${topic}`
  const subscriptions = createSubscriptions(() => link)
  const outbox = createOutbox()
  /** Maximum body size of the server, set on the first connection. */
  let maxBodyBytes = Number.POSITIVE_INFINITY
  /** Bytes waiting for the first connection. */
  let waitingBytes = 0

  const link = createNatsLink({
    ...linkOptions,
    onUp(connection) {
      maxBodyBytes = connection.info?.max_payload ?? maxBodyBytes
      subscriptions.resubscribe(connection)
    },
    onDown() {
      const dropped = outbox.clear()
      if (dropped > 0)
        onWarning(
          `NATS at ${formatNatsAddress(address)}: connection lost; ${dropped} unconfirmed messages may not have been delivered`,
        )
    },
  })

  /** @throws {GatewayError} 400, 503 */
  function send(connection: NatsConnection, topic: string, message: Message): void {
    const { headers, bytes } = encodeHeaders(message.headers)
    const size = bytes + message.body.length
    if (size > maxBodyBytes)
      throw brokerError(400, `body and headers must be at most ${maxBodyBytes} bytes, got ${size}`)
    if (outbox.bytes > 0 && outbox.bytes + size > maxUnconfirmedBytes)
      throw brokerUnavailable(
        new Error(`the server is too slow: ${outbox.bytes} unconfirmed bytes`),
      )
    try {
      // Copied because the library sends the body later, while the caller may reuse the buffer.
      const body = new Uint8Array(message.body)
      connection.publish(toSubject(topic), body, headers === undefined ? {} : { headers })
    } catch (error) {
      throw brokerUnavailable(error)
    }
    outbox.add(connection, size + MESSAGE_BYTES)
  }

  /** Publishes after the first connection. */
  async function sendLater(topic: string, message: Message): Promise<void> {
    const size = message.body.length + MESSAGE_BYTES
    if (waitingBytes > 0 && waitingBytes + size > maxUnconfirmedBytes)
      throw brokerUnavailable(
        new Error(`${waitingBytes} bytes are already waiting for a connection`),
      )
    waitingBytes += size
    try {
      send(await link.open(), topic, message)
    } catch (error) {
      throw toFailure(error)
    } finally {
      waitingBytes -= size
    }
  }

  return {
    name: 'nats',
    tried: link.tried,

    get maxBodyBytes() {
      return maxBodyBytes
    },

    publish(topic, message) {
      const { connection } = link
      return connection === undefined ? sendLater(topic, message) : send(connection, topic, message)
    },

    async subscribe(topic, handler, { queue } = {}) {
      try {
        return await subscriptions.subscribe(toSubject(topic), queue, handler)
      } catch (error) {
        throw toFailure(error)
      }
    },

    close: link.close,
  }
}

function toFailure(error: unknown): GatewayError {
  return error instanceof GatewayError ? error : brokerUnavailable(error)
}
