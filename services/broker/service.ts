import type { Message } from '../../core/contracts/broker.ts'
import { PAYLOAD_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import type { CheckedBroker } from '../../domain/broker/broker.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createBrokerEndpoints } from './endpoints.ts'
import { createSubscriptions } from './subscriptions.ts'

const DESCRIPTION = 'Publishes messages to subscribers'

export interface BrokerServiceOptions extends Omit<ServiceOptions, 'name' | 'broker'> {
  /** Transports the messages. Its owner closes it after the service. */
  readonly broker: CheckedBroker
  /** Maximum number of subscribers; further subscribers are rejected with 429. @default 10000 */
  readonly maxSubscribers?: number
}

/** The built-in `broker` service. */
export interface BrokerService {
  /** A service that has not been started yet. */
  readonly service: Service<object>
  /** Returns the number of subscriptions made through calls. */
  readonly subscribers: () => number
  /** Ends subscriptions and rejects new ones. Other calls continue. */
  readonly endStreams: () => void
  /** Ends subscriptions, then stops the service. */
  readonly close: () => Promise<void>
}

/** Allowance for the JSON that surrounds headers and body. */
const ENVELOPE_BYTES = 1024

/**
 * Creates the `broker` service (reference 5.1). Topics and queues are prefixed with their
 * namespace: `<namespace>.<topic>`.
 */
export function createBrokerService(options: BrokerServiceOptions): BrokerService {
  const { broker, maxSubscribers = 10_000, ...serviceOptions } = options
  const service = new Service({
    metadata: { description: DESCRIPTION },
    ...serviceOptions,
    name: 'broker',
  })

  function fits({ headers, body }: Message, topic: string): boolean {
    let bytes = Math.ceil(body.length / 3) * 4
    for (const name in headers) bytes += 2 * (name.length + headers[name]!.length) + 8
    if (bytes + ENVELOPE_BYTES <= PAYLOAD_MAX_BYTES) return true
    service.log.warn({ topic, bytes: body.length }, 'message skipped: too large for a stream')
    return false
  }

  const subscriptions = createSubscriptions({ broker, maxSubscribers, fits })
  service.handle(
    'Broker',
    createBrokerEndpoints(broker, subscriptions, createAccountChecks(serviceOptions.authorizer)),
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
