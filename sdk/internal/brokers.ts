import type { CheckedBroker } from '../../domain/broker/broker.ts'

/** What a service has to do with brokers. */
export interface OwnBroker {
  /** The one it was told of, opened when it is first asked for; undefined: it has the platform's. */
  readonly find: () => CheckedBroker | undefined
  /** Closes something with the service. */
  readonly closeToo: (close: () => Promise<void>) => void
}

const brokers = new WeakMap<object, OwnBroker>()

/** Remembers the broker of a service, out of reach of those who have the service. */
export function setOwnBroker(service: object, broker: OwnBroker): void {
  brokers.set(service, broker)
}

/** The broker of a service, as it was remembered. */
export function getOwnBroker(service: object): OwnBroker {
  return brokers.get(service)!
}
