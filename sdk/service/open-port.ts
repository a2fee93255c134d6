import type { Dispatcher } from './dispatch.ts'
import { parseListenAddress, readListenAddress } from './listen-address.ts'
import type { ServiceLimits, ServicePort } from './port.ts'
import { joinHost, type ServiceHost } from './shared-port.ts'

/** Listener options of a service, with a separate or shared port. */
export interface PortOptions {
  /**
   * Listen address: `host:port`, or `:port` for all interfaces, IPv4 and IPv6. Port 0 selects any free port.
   * @default `MX_SERVICE_ADDRESS`, else 127.0.0.1:0
   */
  readonly address?: string
  readonly limits?: ServiceLimits
  /** HTTP server. @default 'uws' if available for the platform, else 'node' */
  readonly listener?: 'uws' | 'node'
  /** Allowed web origins, such as `https://app.example.com`. @default none */
  readonly origins?: readonly string[]
  /** Serves calls on a shared port. Options of separate ports are rejected. */
  readonly host?: ServiceHost
}

export type OpenPort = Omit<ServicePort, 'port'>

/** Options that require a separate port. */
const PORT_OPTIONS = ['address', 'limits', 'listener', 'origins'] as const

/** @throws {TypeError} for an invalid address, or a host combined with options of separate ports. */
export function checkPortOptions(service: string, options: PortOptions): void {
  if (options.address !== undefined) parseListenAddress(options.address)
  const ofPort = PORT_OPTIONS.find((option) => options[option] !== undefined)
  if (options.host !== undefined && ofPort !== undefined)
    throw new TypeError(
      `${ofPort} requires a separate port, but the service ${service} uses a shared one`,
    )
}

/**
 * Starts serving calls.
 *
 * @throws {Error} with a one-line message if the port is in use or permission is denied.
 */
export async function openPort(options: PortOptions, dispatcher: Dispatcher): Promise<OpenPort> {
  const { host, limits = {}, listener, origins = [] } = options
  if (host !== undefined) return joinHost(host, dispatcher)
  const address = readListenAddress(options.address)
  const { service: id, dispatch, log } = dispatcher
  // Loaded by the first service, because clients need no server.
  const { openServicePort } = await import('./port.ts')
  return openServicePort({ address, id, dispatch, log, limits, listener, origins })
}
