import type { CheckedBroker } from '../core/broker/broker.ts'

/** Opens the broker a service was told of; undefined: it has the platform's. */
type OpenOwnBroker = () => CheckedBroker | undefined

const openers = new WeakMap<object, OpenOwnBroker>()

/** Remembers how to open the broker of a service, out of reach of those who have the service. */
export function setOwnBroker(service: object, open: OpenOwnBroker): void {
  openers.set(service, open)
}

/** The broker a service was told of; undefined: it has the platform's. */
export function findOwnBroker(service: object): CheckedBroker | undefined {
  return openers.get(service)?.()
}
