import type { NatsConnection } from '@nats-io/transport-node'
import type { Broker, Message } from '../../core/contracts/broker.ts'
import { GatewayError } from '../../core/errors.ts'
import { brokerUnavailable, rejectInput } from '../../domain/broker/errors.ts'
import { createNatsLink, type NatsLinkOptions } from '../nats/connection.ts'
import { formatNatsAddress } from '../nats/url.ts'
import { encodeHeaders } from './nats/headers.ts'
import { createOutbox } from './nats/outbox.ts'
import { createSubscriptions } from './nats/subscriptions.ts'

export interface NatsBrokerOptions extends Omit<NatsLinkOptions, 'onUp' | 'onDown'> {
  /** Bytes on their way to the server before more is refused with 503. @default 67108864 */
  readonly maxUnconfirmedBytes?: number
}

/** A broker on NATS. */
export interface NatsBroker extends Broker {
  /** Settles when every server was tried once. @throws {Error} when one refused, with `denied` true. */
  readonly tried: Promise<void>
}

/** What a message takes that has no body, about. */
const MESSAGE_BYTES = 256

/**
 * Carries messages over a server of NATS, or a cluster of them, which any number of gateways and other programs share. Topic and
 * queue are those of NATS, the topic behind `<prefix>.broker.`; headers are headers.
 *
 * While there is no server nothing is taken (503): neither messages nor subscribers. Those who had subscribed before get
 * messages again as soon as there is one; what was published meanwhile they do not get. What was on its way when the
 * connection broke may be lost, which is warned of with a number.
 */
export function createNatsBroker(options: NatsBrokerOptions): NatsBroker {
  const { maxUnconfirmedBytes = 64 * 1024 * 1024, ...linkOptions } = options
  const { address, onWarning = (message) => process.emitWarning(message) } = options
  const toSubject = (topic: string): string => `${address.prefix}.broker.${topic}`
  const subscriptions = createSubscriptions(() => link)
  const outbox = createOutbox()
  /** The server's, once it said so. */
  let maxBodyBytes = Number.POSITIVE_INFINITY
  /** Bytes that wait for the first connection. */
  let waitingBytes = 0

  const link = createNatsLink({
    ...linkOptions,
    onUp(connection) {
      maxBodyBytes = connection.info?.max_payload ?? maxBodyBytes
      subscriptions.up(connection)
    },
    onDown() {
      const lost = outbox.clear()
      if (lost > 0)
        onWarning(
          `NATS at ${formatNatsAddress(address)}: of ${lost} messages it is not known whether they arrived`,
        )
    },
  })

  /** @throws {GatewayError} 400, 503 */
  function send(connection: NatsConnection, topic: string, message: Message): void {
    const { headers, bytes } = encodeHeaders(message.headers)
    const size = bytes + message.body.length
    if (size > maxBodyBytes)
      throw rejectInput(400, `body and headers must be at most ${maxBodyBytes} bytes, got ${size}`)
    if (outbox.bytes > 0 && outbox.bytes + size > maxUnconfirmedBytes)
      throw brokerUnavailable(
        new Error(`the server takes too long: ${outbox.bytes} bytes wait for it`),
      )
    try {
      // A copy: the library sends it a little later, and it is the caller's again now.
      const body = new Uint8Array(message.body)
      connection.publish(toSubject(topic), body, headers === undefined ? {} : { headers })
    } catch (error) {
      throw brokerUnavailable(error)
    }
    outbox.add(connection, size + MESSAGE_BYTES)
  }

  /** Waits for the first connection. */
  async function sendLater(topic: string, message: Message): Promise<void> {
    const size = message.body.length + MESSAGE_BYTES
    if (waitingBytes > 0 && waitingBytes + size > maxUnconfirmedBytes)
      throw brokerUnavailable(new Error(`${waitingBytes} bytes wait for a connection`))
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
