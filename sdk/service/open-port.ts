import type { Dispatcher } from './dispatch.ts'
import { parseListenAddress, readListenAddress } from './listen-address.ts'
import type { ServiceLimits, ServicePort } from './port.ts'
import { joinHost, type ServiceHost } from './shared-port.ts'

/** Where a service takes calls: at a port of its own, or at that of a host. */
export interface PortOptions {
  /** Where it listens: `host:port`, or `:port` for all interfaces, IPv4 and IPv6; port 0: any free one. @default `MX_SERVICE_ADDRESS`, else 127.0.0.1:0 */
  readonly address?: string
  readonly limits?: ServiceLimits
  /** The HTTP server below. @default 'uws' where there is one for this platform, else 'node' */
  readonly listener?: 'uws' | 'node'
  /** Web origins whose pages may connect, such as `https://app.example.com`. @default none */
  readonly origins?: readonly string[]
  /** Serves its calls at a port it shares with others: it opens none, and the options of one are refused. */
  readonly host?: ServiceHost
}

/** A port as a service has it. */
export type OpenPort = Omit<ServicePort, 'port'>

/** What a service with a port of its own is told. */
const OF_PORTS = ['address', 'limits', 'listener', 'origins'] as const

/** @throws {TypeError} for an address that is none, and for both a host and options of a port of its own. */
export function checkPortOptions(service: string, options: PortOptions): void {
  if (options.address !== undefined) parseListenAddress(options.address)
  const ofPort = OF_PORTS.find((option) => options[option] !== undefined)
  if (options.host !== undefined && ofPort !== undefined)
    throw new TypeError(`${ofPort} is for a port of its own, and the service ${service} has a host`)
}

/**
 * Serves the calls of a service.
 *
 * @throws {Error} with one clear line when the port is in use or may not be opened.
 */
export async function openPort(options: PortOptions, dispatcher: Dispatcher): Promise<OpenPort> {
  const { host, limits = {}, listener, origins = [] } = options
  if (host !== undefined) return joinHost(host, dispatcher)
  const address = readListenAddress(options.address)
  const { service: id, dispatch, log } = dispatcher
  // Loaded by the first service that starts: programs that only call others need no server.
  const { openServicePort } = await import('./port.ts')
  return openServicePort({ address, id, dispatch, log, limits, listener, origins })
}
