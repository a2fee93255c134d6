import type { Message } from '../../core/contracts/broker.ts'
import { PAYLOAD_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import type { CheckedBroker } from '../../domain/broker/broker.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createBrokerEndpoints } from './endpoints.ts'
import { createSubscriptions } from './subscriptions.ts'

const DESCRIPTION = 'Messages to those who listen'

/** What the broker service is told. */
export interface BrokerServiceOptions extends Omit<ServiceOptions, 'name' | 'broker'> {
  /** Carries the messages. Its owner closes it, after the service. */
  readonly broker: CheckedBroker
  /** Subscribers at a time; one more is refused with 429. @default 10000 */
  readonly maxSubscribers?: number
}

/** The broker of a platform, as a service of it. */
export interface BrokerService {
  /** Not started yet. */
  readonly service: Service<object>
  /** How many have subscribed by a call. */
  readonly subscribers: () => number
  /** Ends the streams of those who subscribed, and takes no more of them; other calls go on. */
  readonly endStreams: () => void
  /** Ends the streams of those who subscribed, then stops the service. */
  readonly close: () => Promise<void>
}

/** What JSON writes around headers and body, and more. */
const ENVELOPE_BYTES = 1024

/** The service `broker` (reference 5.1): topics and queues of a namespace have its name in front, `<namespace>.<topic>`. */
export function createBrokerService(options: BrokerServiceOptions): BrokerService {
  const { broker, maxSubscribers = 10_000, ...rest } = options
  const service = new Service({ metadata: { description: DESCRIPTION }, ...rest, name: 'broker' })

  function fits({ headers, body }: Message, topic: string): boolean {
    let bytes = Math.ceil(body.length / 3) * 4
    for (const name in headers) bytes += 2 * (name.length + headers[name]!.length) + 8
    if (bytes + ENVELOPE_BYTES <= PAYLOAD_MAX_BYTES) return true
    service.log.warn({ topic, bytes: body.length }, 'a message is too long for a stream: left out')
    return false
  }

  const subscriptions = createSubscriptions({ broker, maxSubscribers, fits })
  service.handle(
    'Broker',
    createBrokerEndpoints(broker, subscriptions, createAccountChecks(rest.gate)),
  )
  return {
    service,
    subscribers: subscriptions.count,
    endStreams: subscriptions.close,
    async close() {
      subscriptions.close()
      await service.stop()
    },
  }
}
