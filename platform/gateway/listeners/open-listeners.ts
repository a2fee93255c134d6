import type { Listener, ListenerOptions } from '../../../core/listener/listener.ts'
import { createNodeListener } from '../../../core/listener/node/listener.ts'
import type { Log } from '../../process/log.ts'
import { claimPort } from '../../process/port.ts'
import type { Settings } from '../../settings/settings.ts'
import { chooseListener } from './choose-listener.ts'

/** The listeners of a gateway, combined. */
export interface Listeners extends Listener {
  /** Actual port of `http2_address`; undefined without one. */
  readonly http2Port: number | undefined
}

type ListenersSettings = Pick<Settings, 'address' | 'listener' | 'http2' | 'http2Address'>

/**
 * Opens `address` and `http2_address`, if set. Each accepts half of the connections.
 *
 * @throws {Error} with a one-line message when a port is in use or not permitted; all are closed then.
 */
export async function openListeners(
  settings: ListenersSettings,
  options: Omit<ListenerOptions, 'host' | 'port' | 'http2'>,
  log: Log,
): Promise<Listeners> {
  const { address, http2Address, http2 } = settings
  // After everything else was validated: invalid settings are reported before ports in use.
  if (!options.shared) await claimAll(settings)
  const create = chooseListener(settings, log)
  if (http2Address === undefined) {
    const only = await create({ ...options, ...address })
    return Object.assign(only, { http2Port: undefined })
  }
  const { maxConnections = Number.POSITIVE_INFINITY } = options
  const shared = { ...options, maxConnections: Math.ceil(maxConnections / 2) }
  const first = await create({ ...shared, ...address })
  try {
    const isPlain = options.tls === undefined
    // Without TLS, and thus ALPN, HTTP/2 requires prior knowledge.
    const mode = isPlain ? 'cleartext' : http2
    return join(first, await createNodeListener({ ...shared, ...http2Address, http2: mode }))
  } catch (error) {
    await first.close()
    throw error
  }
}

async function claimAll({ address, http2Address }: ListenersSettings): Promise<void> {
  if (address.port !== 0) await claimPort(address)
  if (http2Address !== undefined && http2Address.port !== 0)
    await claimPort(http2Address, 'http2_address')
}

function join(first: Listener, second: Listener): Listeners {
  const both = [first, second]
  return {
    name: first.name,
    port: first.port,
    http2Port: second.port,
    get connections() {
      return first.connections + second.connections
    },
    drain(keepIdle) {
      for (const each of both) each.drain(keepIdle)
    },
    closeTunnels() {
      for (const each of both) each.closeTunnels()
    },
    async close() {
      await Promise.all(both.map((each) => each.close()))
    },
  }
}
