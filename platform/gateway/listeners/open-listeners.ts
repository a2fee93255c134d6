import type { CreateListener, Listener, ListenerOptions } from '../../../core/listener/listener.ts'
import { createNodeListener } from '../../../core/listener/node/listener.ts'
import type { Log } from '../../process/log.ts'
import { claimPort, isFixed } from '../../process/port.ts'
import { type Address, toSocketPath } from '../../settings/parse/address.ts'
import type { Settings } from '../../settings/settings.ts'
import { chooseListener } from './choose-listener.ts'
import type { AdditionalListener } from './open-others.ts'

/** The listeners of a gateway, combined. */
export interface Listeners extends Listener {
  /** Actual port of `http2_address`; undefined if not set. */
  readonly http2Port: number | undefined
  /** Actual ports of the other listeners by name. */
  readonly otherPorts: ReadonlyMap<string, number>
}

type ListenersSettings = Pick<Settings, 'address' | 'listener' | 'http2' | 'http2Address'>
type SharedOptions = Omit<ListenerOptions, 'host' | 'port' | 'path' | 'http2'>

/** A listener to be opened. */
interface Plan extends Pick<ListenerOptions, 'tls' | 'clientCa'> {
  readonly name: string
  readonly address: Address
  /** Setting that configures the listener, or its position in `mx.yaml`. */
  readonly source: string
  readonly create: CreateListener
}

/** Name of the main listener, and the additional listeners. */
export interface ListenPlan {
  /** Empty if requests do not need the name of their listener. */
  readonly name: string
  readonly others: readonly AdditionalListener[]
}

/**
 * Opens `address`, `http2_address` if set, and the other listeners. Each listener accepts an equal
 * share of the connections.
 *
 * @throws {Error} with a one-line message if a port is in use or not permitted. All listeners are
 * closed in this case.
 */
export async function openListeners(
  settings: ListenersSettings,
  options: SharedOptions,
  log: Log,
  { name, others }: ListenPlan = { name: '', others: [] },
): Promise<Listeners> {
  const { address, http2Address, http2 } = settings
  const { tls, clientCa } = options
  const create = chooseListener(settings, log)
  // Without TLS there is no ALPN, so HTTP/2 requires prior knowledge.
  const http2Mode = tls === undefined ? 'cleartext' : http2
  const main = { name, tls, clientCa }
  const plans: Plan[] = [
    { ...main, address, source: 'address', create },
    ...(http2Address === undefined
      ? []
      : [
          {
            ...{ ...main, address: http2Address, source: 'http2_address' },
            create: (each: ListenerOptions) => createNodeListener({ ...each, http2: http2Mode }),
          },
        ]),
    ...others.map((other) => ({ ...other, create })),
  ]
  // Checked last, so that invalid settings are reported before ports in use.
  if (!options.shared)
    for (const { address, source } of plans) if (isFixed(address)) await claimPort(address, source)
  const { maxConnections = Number.POSITIVE_INFINITY } = options
  const share = { ...options, maxConnections: Math.ceil(maxConnections / plans.length) }
  const opened: Listener[] = []
  try {
    for (const plan of plans) opened.push(await openOne(plan, share, http2))
  } catch (error) {
    await Promise.all(opened.map((each) => each.close()))
    throw error
  }
  const rest = opened.slice(plans.length - others.length)
  return combine(opened, {
    http2Port: http2Address === undefined ? undefined : opened[1]!.port,
    otherPorts: new Map(others.map((other, i) => [other.name, rest[i]!.port])),
  })
}

function openOne(
  { name, address, tls, clientCa, create }: Plan,
  options: SharedOptions,
  http2: Settings['http2'],
): Promise<Listener> {
  const { handle } = options
  const path = toSocketPath(address)
  const all: ListenerOptions = {
    ...{ ...options, ...address, tls, clientCa },
    ...(name !== '' && {
      handle(x) {
        x.listener = name
        handle(x)
      },
    }),
  }
  // uWebSockets cannot share a Unix socket between workers.
  return path === undefined ? create(all) : createNodeListener({ ...all, path, http2 })
}

function combine(
  all: readonly Listener[],
  ports: Pick<Listeners, 'http2Port' | 'otherPorts'>,
): Listeners {
  const [main] = all as [Listener]
  if (all.length === 1) return Object.assign(main, ports)
  return {
    name: main.name,
    port: main.port,
    ...ports,
    get connections() {
      return all.reduce((sum, { connections }) => sum + connections, 0)
    },
    drain(keepIdle) {
      for (const each of all) each.drain(keepIdle)
    },
    closeTunnels() {
      for (const each of all) each.closeTunnels()
    },
    async close() {
      await Promise.all(all.map((each) => each.close()))
    },
  }
}
