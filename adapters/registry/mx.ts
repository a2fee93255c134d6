import type { Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'
import type { TokenSource } from '../../core/contracts/token-source.ts'
import { GatewayError } from '../../core/errors.ts'
import { createWatchers } from '../../core/registry/event-hub.ts'
import { checkService, DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import { Channel } from '../../core/rpc/ws/channel.ts'
import { explainTls } from '../../lib/net/tls-error-hint.ts'
import { callRegistry, maySignAnew } from './mx/calls.ts'
import { readEntries, readEntry, toEntry } from './mx/entry.ts'
import { createLink } from './mx/link.ts'
import { createRegistrations } from './mx/registrations.ts'
import { createSentDigests } from './mx/sent-digests.ts'

export interface MxRegistryOptions {
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  /** TLS. @default false */
  readonly secure?: boolean
  /** Certificates to trust in place of the system's, PEM. */
  readonly ca?: string
  /** Whose services are read and registered. @default 'mx' */
  readonly domain?: string
  /** Milliseconds the registry may take to answer; a connection that was silent for as long, though asked, is given up. @default 5000 */
  readonly timeoutMs?: number
  /** Who registers; what is read shows the token there is. @default nobody that is known */
  readonly tokens?: TokenSource | undefined
  /** Milliseconds that only grow. @default performance.now */
  readonly nowMs?: () => number
}

/** Services of a page: some 20 ms of work where each has 20 nodes. */
const PAGE = 200
/** Silence before it is asked whether the registry is there, of the time it may take: that is over when three questions were not answered. */
const PING_SHARE = 0.4
/** Methods nobody may call but administrators. */
const WRITES: ReadonlySet<string> = new Set(['Register', 'Deregister'])
/** More pages than there can be services. */
const PAGES_MAX = 10_000

/**
 * The services of a registry service elsewhere (`mx://host:port`), called over one connection.
 *
 * While somebody watches, it holds one watch of all services, however many are of interest: whoever watches one (a gateway, a
 * client) watches for new ones as well, and one watch is read again at once after an outage. A process that only registers
 * holds a watch of its own service: it tells when the registry was away, and what was registered here is registered
 * again as soon as it is back, for it may have been restarted empty.
 *
 * Reads wait for the watch, so that whoever watches, then reads, misses nothing. What is refused (400, 403, 404) is told apart
 * from an outage. No call and no watch of it keeps the process alive but the answers that are awaited.
 *
 * @throws {TypeError} for the domain `*`; `register` for what is malformed; {Error} everything else when the registry does not answer, or refuses.
 */
export function createMxRegistry(options: MxRegistryOptions): Registry {
  const {
    host,
    port,
    secure = false,
    ca,
    domain = DEFAULT_DOMAIN,
    timeoutMs = 5000,
    tokens,
  } = options
  const { nowMs = () => performance.now() } = options
  // Of other domains only members are told.
  const mustLogIn = domain !== DEFAULT_DOMAIN
  if (domain === '*') throw new TypeError('domain must be one domain, got "*"')
  const url = `${secure ? 'mxs' : 'mx'}://${host.includes(':') ? `[${host}]` : host}:${port}`
  const channel = new Channel({
    host,
    port,
    secure,
    background: true,
    connectTimeoutMs: timeoutMs,
    pingAfterMs: timeoutMs * PING_SHARE,
    ...(ca !== undefined && { ca }),
  })
  const watchers = createWatchers()
  /** Registrations on their way for the first time. */
  let registering = 0
  /** The watch was replaced by another: the registry may have been away in between. */
  let renewDue = false
  let told = createSentDigests()
  /** Last states that came while the list is read; undefined: it is not. */
  let waiting: Map<string, RegistryEvent> | undefined
  /** The list that is being read, for whoever began to watch before it was. */
  let listing: Promise<Service[]> | undefined
  let closed = false

  const all = { options: { domain } }
  /** Of a process that only registers. */
  let own: object | undefined

  const link = createLink({
    channel,
    timeoutMs,
    ...{ tokens, mustLogIn },
    onOpen(again) {
      if (again || renewDue) void registrations.renew()
      renewDue = false
      if (watchers.size > 0) catchUp(again)
      else link.caughtUp()
    },
    onMessage(message) {
      if (watchers.size === 0) return
      const service = readEntry(message['service'], domain)
      if (service === undefined) return
      const event: RegistryEvent = {
        type: message['action'] === 'delete' ? 'delete' : 'update',
        service,
      }
      if (waiting === undefined) hear(event)
      else waiting.set(`${service.name}\n${service.version}`, event)
    },
    onOutage(error) {
      watchers.tellOutage(error && toError(error))
    },
  })
  const registrations = createRegistrations({
    nowMs,
    async send(service, ttlSeconds) {
      await call('Register', toEntry(service, { ttl: Math.ceil(ttlSeconds), domain }))
    },
  })

  function hear({ type, service }: RegistryEvent): void {
    const event = type === 'delete' ? told.forget(service) : told.learn(service)
    if (event !== undefined) watchers.emit(event)
  }

  /** Reads what there is, once a watch stands. Of the first one that is what watchers will read themselves. */
  function catchUp(again: boolean): void {
    waiting = new Map()
    const events = waiting
    const isCurrent = (): boolean => waiting === events
    told.begin()
    const read = list((services) => {
      if (!isCurrent()) return
      for (const service of services) {
        const event = told.learn(service)
        if (event !== undefined && again) watchers.emit(event)
      }
    })
    listing = read
    read.then(
      () => {
        if (listing === read) listing = undefined
        if (!isCurrent()) return
        waiting = undefined
        for (const event of told.finish()) watchers.emit(event)
        for (const event of events.values()) hear(event)
        link.caughtUp()
      },
      (error) => {
        if (listing === read) listing = undefined
        if (isCurrent()) link.fail(GatewayError.from(error))
      },
    )
  }

  async function list(onPage: (services: readonly Service[]) => void): Promise<Service[]> {
    if (mustLogIn) await tokens?.ready()
    const services: Service[] = []
    let after: unknown
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const cursor = after === undefined ? {} : { after }
      const reply = await send('ListServices', { ...all, limit: PAGE, ...cursor })
      const page = readEntries(reply, domain)
      onPage(page)
      for (const service of page) services.push(service)
      const { next } = reply
      if (typeof next !== 'string' || next === '') return services
      if (next === after) break
      after = next
    }
    throw new GatewayError('registry', 502, 'its list of services does not end')
  }

  /** Asks once the watch stands, where one is wanted. */
  async function call(method: string, request: object): Promise<Readonly<Record<string, unknown>>> {
    await link.opened()
    if (mustLogIn || WRITES.has(method)) await tokens?.ready()
    return send(method, request)
  }

  /** Asks, and once more with another token where that may help. */
  async function send(method: string, request: object): Promise<Readonly<Record<string, unknown>>> {
    const shown = tokens?.current()
    try {
      return await callRegistry(channel, method, request, timeoutMs, tokens)
    } catch (error) {
      if (!maySignAnew(tokens, shown, error)) throw error
      await tokens.ready()
      return callRegistry(channel, method, request, timeoutMs, tokens)
    }
  }

  /** Does some work that keeps the process alive, and tells its errors as a registry does. */
  async function perform<T>(work: () => Promise<T>): Promise<T> {
    const alive = setInterval(() => {}, timeoutMs)
    try {
      return await work()
    } catch (error) {
      throw toError(error)
    } finally {
      clearInterval(alive)
    }
  }

  function toError(error: unknown): Error {
    if (closed) return new Error(`the registry ${url} is closed`)
    if (!(error instanceof GatewayError)) return error as Error
    const { code, message, cause } = error
    if (code === 400)
      return new TypeError(`the registry ${url} refuses: ${message}`, { cause: error })
    if (code < 500 && code !== 408) {
      const hint = code === 401 ? '; whoever registers needs MX_AUTH_ID and MX_AUTH_SECRET' : ''
      const refusal = new Error(`the registry ${url} refuses (${code}): ${message}${hint}`, {
        cause: error,
      })
      // Too many of something (429) may be fewer soon.
      return Object.assign(refusal, { denied: code !== 429 })
    }
    const reason = typeof cause === 'string' && cause !== '' ? cause : message
    const told = secure ? explainTls(reason, 'mx://', 'NODE_EXTRA_CA_CERTS') : reason
    return new Error(`the registry ${url} does not answer: ${told}`, { cause: error })
  }

  function want(): void {
    if (closed) return
    if (watchers.size > 0) return link.want(all)
    told = createSentDigests()
    waiting = undefined
    if (registrations.size + registering === 0) own = undefined
    link.want(own)
  }

  return {
    name: 'mx',

    getService(name) {
      if (!isServiceName(name)) return []
      return perform(async () => {
        try {
          return readEntries(await call('GetService', { service: name, ...all }), domain)
        } catch (error) {
          if (isNotFound(error, name)) return []
          throw error
        }
      })
    },

    listServices() {
      return perform(async () => {
        await link.opened()
        return listing ?? list(() => {})
      })
    },

    async register(service, { ttlSeconds = 0 } = {}) {
      checkService(service)
      if (service.nodes.length === 0)
        throw new TypeError(`service ${service.name} must be registered with a node`)
      own ??= { service: service.name, ...all }
      registering++
      want()
      try {
        await perform(() => registrations.add(service, ttlSeconds))
      } finally {
        registering--
        want()
      }
    },

    async deregister(service) {
      await registrations.remove(service)
      try {
        await perform(() => call('Deregister', toEntry(service, { domain })))
      } finally {
        want()
      }
    },

    watch(listener, options) {
      renewDue ||= watchers.size === 0 && registrations.size > 0
      const stop = watchers.watch(listener, options)
      // It may have been read before this watch began.
      listing = undefined
      want()
      return () => {
        stop()
        want()
      }
    },

    close() {
      closed = true
      link.want(undefined)
      registrations.close()
      channel.close()
    },
  }
}

/** Whether nobody registered the service; other things may not be found, too. */
function isNotFound(error: unknown, name: string): boolean {
  return (
    error instanceof GatewayError &&
    error.code === 404 &&
    (error.message === 'service not found' || error.message === `service not found: ${name}`)
  )
}
