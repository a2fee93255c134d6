import type { CheckedBroker } from '../../domain/broker/broker.ts'

/** What a service has to do with brokers. */
export interface BrokerAccess {
  /** The one it was told of, opened when it is first asked for; undefined: it has the platform's. */
  readonly find: () => CheckedBroker | undefined
  /** Closes something with the service. */
  readonly closeToo: (close: () => Promise<void>) => void
}

const brokers = new WeakMap<object, BrokerAccess>()

/** Remembers the broker of a service, out of reach of those who have the service. */
export function setBrokerAccess(service: object, broker: BrokerAccess): void {
  brokers.set(service, broker)
}

/** The broker of a service, as it was remembered. */
export function getBrokerAccess(service: object): BrokerAccess {
  return brokers.get(service)!
}
