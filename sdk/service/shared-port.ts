import type { Dispatcher } from './dispatch.ts'
import type { ServicePort } from './port.ts'

/** A port that services of this process share. */
export interface ServiceHost {
  /** Where others reach it, `host:port`. */
  readonly address: string
  /** Which HTTP server it is. */
  readonly server: ServicePort['server']
  /**
   * Serves the calls of a service from now on. Returns what ends that; calls under way go on.
   *
   * @throws {Error} when it serves one of that name already.
   */
  readonly add: (dispatcher: Dispatcher) => () => void
}

/** Serves a service at the port of a host. Draining and closing end that, and leave the port as it is. */
export function joinHost(host: ServiceHost, dispatcher: Dispatcher): Omit<ServicePort, 'port'> {
  const { address, server } = host
  const leave = host.add(dispatcher)
  const end = async (): Promise<void> => leave()
  return { address, server, drain: end, close: end }
}
