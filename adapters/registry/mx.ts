import type { Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'
import type { TokenSource } from '../../core/contracts/token-source.ts'
import { GatewayError } from '../../core/errors.ts'
import { createRegistryWatchers } from '../../core/registry/event-hub.ts'
import { checkService, DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import { Channel } from '../../core/rpc/ws/channel.ts'
import { explainTls } from '../../lib/net/tls-error-hint.ts'
import { callRegistry, canRetryWithToken } from './mx/calls.ts'
import { readEntries, readEntry, toEntry } from './mx/entry.ts'
import { createLink } from './mx/link.ts'
import { createRegistrations } from './mx/registrations.ts'
import { createSentDigests } from './mx/sent-digests.ts'

export interface MxRegistryOptions {
  /** Host name or IP address without brackets. */
  readonly host: string
  readonly port: number
  /** Whether to use TLS. @default false */
  readonly secure?: boolean
  /** PEM certificates to trust instead of the system's certificates. */
  readonly ca?: string
  /** Domain of the services. @default 'mx' */
  readonly domain?: string
  /**
   * Timeout of a call in milliseconds. A connection is closed if pings receive no response for this
   * long.
   *
   * @default 5000
   */
  readonly timeoutMs?: number
  /** Credentials for registrations. Reads use the current token, if any. @default anonymous */
  readonly tokens?: TokenSource | undefined
  /** Monotonic clock in milliseconds. @default performance.now */
  readonly nowMs?: () => number
}

/** Services per page. A page takes about 20 ms with 20 nodes per service. */
const PAGE = 200
/**
 * Idle time before a ping as a fraction of the timeout. A connection is closed after three
 * unanswered pings.
 */
const PING_SHARE = 0.4
/** Methods that require an administrator. */
const WRITES: ReadonlySet<string> = new Set(['Register', 'Deregister'])
/** Limits an endless pagination. There cannot be enough services for this many pages. */
const PAGES_MAX = 10_000

/**
 * Client of a remote registry service (`mx://host:port`) over one connection.
 *
 * While there are watchers, the client maintains a single watch of all services. Gateways and
 * clients that watch one service also watch for new ones, and a single watch is resynchronized
 * immediately after an outage. A process that only registers watches its own service: it detects an
 * outage and registers again afterwards, because the registry may have restarted without data.
 *
 * Reads wait for the watch, so a read after `watch` misses no changes. Rejected calls (400, 403,
 * 404) are distinguished from an outage. Only pending calls keep the process alive.
 *
 * @throws {TypeError} for the domain `*`, and from `register` if a service is malformed.
 * @throws {Error} if the registry is unreachable or denies the call.
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
  // Other domains are visible only to members.
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
  const watchers = createRegistryWatchers()
  /** Number of first registrations in flight. */
  let registering = 0
  /** Set when the watch was replaced, because the registry may have been unavailable in between. */
  let renewDue = false
  let sent = createSentDigests()
  /** Latest events received while the list is being read; undefined otherwise. */
  let pendingEvents: Map<string, RegistryEvent> | undefined
  /** The list in flight, shared with reads that started before the watch. */
  let listing: Promise<Service[]> | undefined
  let closed = false

  const all = { options: { domain } }
  /** Watch request of a process that only registers. */
  let ownRequest: object | undefined

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
      if (pendingEvents === undefined) emitChange(event)
      else pendingEvents.set(`${service.name}\n${service.version}`, event)
    },
    onOutage(error) {
      watchers.reportOutage(error && toError(error))
    },
  })
  const registrations = createRegistrations({
    nowMs,
    async send(service, ttlSeconds) {
      await call('Register', toEntry(service, { ttl: Math.ceil(ttlSeconds), domain }))
    },
  })

  function emitChange({ type, service }: RegistryEvent): void {
    const event = type === 'delete' ? sent.forget(service) : sent.learn(service)
    if (event !== undefined) watchers.emit(event)
  }

  /**
   * Reads the list after a watch has opened. The first list emits no events, because watchers read
   * it themselves.
   */
  function catchUp(again: boolean): void {
    pendingEvents = new Map()
    const events = pendingEvents
    const isCurrent = (): boolean => pendingEvents === events
    sent.begin()
    const read = list((services) => {
      if (!isCurrent()) return
      for (const service of services) {
        const event = sent.learn(service)
        if (event !== undefined && again) watchers.emit(event)
      }
    })
    listing = read
    read.then(
      () => {
        if (listing === read) listing = undefined
        if (!isCurrent()) return
        pendingEvents = undefined
        for (const event of sent.finish()) watchers.emit(event)
        for (const event of events.values()) emitChange(event)
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
    throw new GatewayError('registry', 502, `the list of services exceeds ${PAGES_MAX} pages`)
  }

  /** Calls the registry once the watch has opened, if one is requested. */
  async function call(method: string, request: object): Promise<Readonly<Record<string, unknown>>> {
    await link.opened()
    if (mustLogIn || WRITES.has(method)) await tokens?.ready()
    return send(method, request)
  }

  /** Calls the registry and retries once if a different token may help. */
  async function send(method: string, request: object): Promise<Readonly<Record<string, unknown>>> {
    const token = tokens?.current()
    try {
      return await callRegistry(channel, method, request, timeoutMs, tokens)
    } catch (error) {
      if (!canRetryWithToken(tokens, token, error)) throw error
      await tokens.ready()
      return callRegistry(channel, method, request, timeoutMs, tokens)
    }
  }

  /** Keeps the process alive until `work` has settled, and converts errors. */
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
      return new TypeError(`the registry ${url} rejected the request: ${message}`, { cause: error })
    if (code < 500 && code !== 408) {
      const hint = code === 401 ? '; registering requires MX_AUTH_ID and MX_AUTH_SECRET' : ''
      const denial = new Error(
        `the registry ${url} denied the request (${code}): ${message}${hint}`,
        {
          cause: error,
        },
      )
      // A 429 response is temporary.
      return Object.assign(denial, { denied: code !== 429 })
    }
    const reason = typeof cause === 'string' && cause !== '' ? cause : message
    const explained = secure ? explainTls(reason, 'mx://', 'NODE_EXTRA_CA_CERTS') : reason
    return new Error(`the registry ${url} is unreachable: ${explained}`, { cause: error })
  }

  function updateLink(): void {
    if (closed) return
    if (watchers.size > 0) return link.setRequest(all)
    sent = createSentDigests()
    pendingEvents = undefined
    if (registrations.size + registering === 0) ownRequest = undefined
    link.setRequest(ownRequest)
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
        throw new TypeError(`service ${service.name} must be registered with at least one node`)
      ownRequest ??= { service: service.name, ...all }
      registering++
      updateLink()
      try {
        await perform(() => registrations.add(service, ttlSeconds))
      } finally {
        registering--
        updateLink()
      }
    },

    async deregister(service) {
      await registrations.remove(service)
      try {
        await perform(() => call('Deregister', toEntry(service, { domain })))
      } finally {
        updateLink()
      }
    },

    watch(listener, options) {
      renewDue ||= watchers.size === 0 && registrations.size > 0
      const stop = watchers.watch(listener, options)
      // The list in flight may be older than this watch.
      listing = undefined
      updateLink()
      return () => {
        stop()
        updateLink()
      }
    },

    close() {
      closed = true
      link.setRequest(undefined)
      registrations.close()
      channel.close()
    },
  }
}

/** Returns whether a 404 response refers to the service itself. */
function isNotFound(error: unknown, name: string): boolean {
  return (
    error instanceof GatewayError &&
    error.code === 404 &&
    (error.message === 'service not found' || error.message === `service not found: ${name}`)
  )
}
