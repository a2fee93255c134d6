import type { Dispatcher } from './dispatch.ts'
import type { ServicePort } from './port.ts'

/** A port shared by services in this process. */
export interface ServiceHost {
  /** Registered address, `host:port`. */
  readonly address: string
  /** HTTP server. */
  readonly server: ServicePort['server']
  /**
   * Serves the calls of a service. Returns a function that removes the service; calls in flight continue.
   *
   * @throws {Error} for a duplicate name.
   */
  readonly add: (dispatcher: Dispatcher) => () => void
}

/**
 * Serves a service on the port of a host service. Draining or closing removes the service from the port, which stays
 * open.
 */
export function joinHost(host: ServiceHost, dispatcher: Dispatcher): Omit<ServicePort, 'port'> {
  const { address, server } = host
  const leave = host.add(dispatcher)
  const end = async (): Promise<void> => leave()
  return { address, server, drain: end, close: end }
}
