import { NATS_FORM, type NatsAddress, parseNatsUrl } from '../../adapters/nats/url.ts'
import type { Broker, Unsubscribe } from '../../core/contracts/broker.ts'
import { parseHostPort } from '../../core/upstream/node/parse-node.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { Client } from '../client/client.ts'
import { createPlatformBroker, type PlatformBrokerOptions } from './platform-broker.ts'

/** A broker opened by its address. */
export interface OpenedBroker {
  /** Closing it ends its subscriptions. */
  readonly broker: Broker & { readonly close: () => Promise<void> }
  /**
   * Settles when the adapter is loaded and has tried to connect. Rejects for permanent errors: access denied, or a
   * missing library.
   */
  readonly loaded: Promise<void>
}

export interface OpenBrokerOptions extends Pick<PlatformBrokerOptions, 'onWarning' | 'onInfo'> {
  /** Client for the `broker` service (`mx`). */
  readonly client: () => Client
}

interface Loaded {
  readonly broker: Broker
  readonly ready?: Promise<void>
}

/** Parsed address of a broker. */
interface Source {
  readonly name: string
  readonly load: (options: OpenBrokerOptions) => Promise<Loaded>
}

const REMOTE = /^mxs?:\/\/(.*)$/s
const NATS = /^(?:nats|tls):\/\//
const FORMS = `memory, mx, mx://host:port, mxs://host:port (TLS) or ${NATS_FORM} (tls:// with TLS)`

/** The in-memory broker, shared by the process. */
let memory: Promise<Broker> | undefined

/**
 * Broker of a program: an object, an address, or the address in the `MX_BROKER` variable.
 *
 * @throws {TypeError} for an invalid address; the message lists the valid forms.
 */
export function toBrokerSource(
  configured: Broker | string | undefined,
): Broker | string | undefined {
  if (configured !== undefined && typeof configured !== 'string') return configured
  const text = configured ?? process.env['MX_BROKER'] ?? ''
  if (configured === undefined && text === '') return undefined
  parseBroker(text, configured === undefined ? 'MX_BROKER' : 'broker')
  return text
}

/** Broker name advertised by services: `memory`, `mx` or `nats`. @throws {TypeError} */
export function nameBroker(source: Broker | string): string {
  return typeof source === 'string' ? parseBroker(source).name : source.name
}

/**
 * Opens a broker by its address: `memory`, shared by the process; `mx`, the platform's service; `mx://host:port`, the
 * service at that address; or `nats://host:port` or `tls://host:port`.
 *
 * The adapter is loaded on demand.
 *
 * @throws {TypeError} for any other text.
 */
export function openBroker(text: string, options: OpenBrokerOptions): OpenedBroker {
  const { name, load } = parseBroker(text)
  let adapter: Broker | undefined
  const loading = load(options).then((loaded) => {
    adapter = loaded.broker
    return loaded
  })
  const loaded = loading.then(({ ready }) => ready)
  // Reported to callers of the broker.
  loaded.catch(() => {})
  const withBroker = <T>(use: (broker: Broker) => Maybe<T>): Maybe<T> =>
    adapter === undefined ? loading.then(({ broker }) => use(broker)) : use(adapter)
  const leaves = new Set<Unsubscribe>()

  const broker: OpenedBroker['broker'] = {
    name,

    get maxBodyBytes() {
      return adapter?.maxBodyBytes ?? Number.POSITIVE_INFINITY
    },

    publish: (topic, message) => withBroker((broker) => broker.publish(topic, message)),

    async subscribe(topic, handler, options) {
      const stop = await withBroker((broker) => broker.subscribe(topic, handler, options))
      const leave = (): Maybe<void> => {
        if (leaves.delete(leave)) return stop()
      }
      leaves.add(leave)
      return leave
    },

    reportDropped: (topic, count) => adapter?.reportDropped?.(topic, count),

    async close() {
      const opened = await loading.catch(() => undefined)
      await Promise.allSettled([...leaves].map((leave) => leave()))
      if (opened !== undefined && opened.broker !== (await memory)) await opened.broker.close?.()
    },
  }
  return { broker, loaded }
}

/** @param option option name for errors. */
function parseBroker(text: string, option = 'broker'): Source {
  const trimmed = text.trim()
  if (trimmed === 'memory') return { name: 'memory', load: loadMemory }
  if (trimmed === 'mx') return { name: 'mx', load: loadMx }
  if (NATS.test(trimmed)) {
    const address = parseNats(trimmed, option)
    return { name: 'nats', load: (options) => loadNats(address, options) }
  }
  const [, authority] = REMOTE.exec(trimmed) ?? []
  if (authority !== undefined && parseHostPort(authority) !== undefined)
    return { name: 'mx', load: (options) => loadRemote(trimmed, options) }
  throw new TypeError(`${option} must be ${FORMS}, got ${toRedacted(trimmed)}`)
}

function parseNats(text: string, option: string): NatsAddress {
  try {
    return parseNatsUrl(text)
  } catch (cause) {
    throw new TypeError(`${option}: ${(cause as Error).message}`, { cause })
  }
}

/** The address without its password. */
function toRedacted(text: string): string {
  return JSON.stringify(text.slice(0, 253).replace(/[^/]*@/, '[password]@'))
}

async function loadMemory(): Promise<Loaded> {
  memory ??= import('../../adapters/broker/memory.ts').then((module) => module.createMemoryBroker())
  return { broker: await memory }
}

async function loadMx({ client, ...reports }: OpenBrokerOptions): Promise<Loaded> {
  return { broker: createPlatformBroker({ client: client(), ...reports }) }
}

async function loadRemote(
  address: string,
  { client: _, ...reports }: OpenBrokerOptions,
): Promise<Loaded> {
  const { Client } = await import('../client/client.ts')
  const client = new Client({ address })
  const broker = createPlatformBroker({ client, ...reports })
  const close = async (): Promise<void> => {
    await broker.close?.()
    client.close()
  }
  return { broker: { ...broker, close } }
}

async function loadNats(address: NatsAddress, { onWarning }: OpenBrokerOptions): Promise<Loaded> {
  const { createNatsBroker } = await import('../../adapters/broker/nats.ts')
  const broker = createNatsBroker({ address, ...(onWarning && { onWarning }) })
  return { broker, ready: broker.tried }
}
