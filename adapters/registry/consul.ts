import { setTimeout as delay } from 'node:timers/promises'
import type { Registry } from '../../core/contracts/registry.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { Pace } from './consul/blocking-query.ts'
import { warnIfNoAcl } from './consul/check-acl.ts'
import { type ConsulResponse, createConsulClient } from './consul/http/client.ts'
import { createConsulError } from './consul/http/errors.ts'
import type { ConsulAddress } from './consul/http/http-agent.ts'
import { createQueries } from './consul/queries.ts'
import { CONSUL_SERVICE } from './consul/read-catalog.ts'
import { createRegistrations } from './consul/registrations.ts'
import { createSharedWatch, type SharedWatch } from './consul/shared-watch.ts'
import { DEFAULT_DOMAIN } from './consul/tags.ts'
import { createAnnouncements } from './consul/user-events.ts'
import { createWarnings } from './consul/warnings.ts'
import { createSlots } from './consul/watch-slots.ts'

export interface ConsulRegistryOptions extends ConsulAddress {
  /** Domain of the services that are read and registered. @default mx */
  readonly domain?: string
  /**
   * Maximum number of concurrent blocking queries, each on its own connection: one per watched
   * service, most recently used first. By default, Consul allows 200 connections per client
   * address.
   *
   * @default 128, divided among the workers of a gateway
   */
  readonly maxWaiting?: number
  /** Maximum number of watched services. Services beyond `maxWaiting` are polled. @default 10000 */
  readonly maxWatched?: number
  /**
   * Minimum poll interval in milliseconds for an unused service without a connection.
   *
   * @default 5000
   */
  readonly pollMs?: number
  /** Maximum size of a response in bytes. @default 67108864 */
  readonly maxResponseBytes?: number
  /** Rates and timeouts of queries. */
  readonly pace?: Partial<Pace>
  /** Called for ignored catalog entries and security problems. @default process.emitWarning */
  readonly onWarning?: (message: string) => void
}

const PACE: Pace = {
  gapMs: 1000,
  burst: 3,
  waitSeconds: 60,
  shortWaitSeconds: 10,
  retryMs: 100,
  maxRetryMs: 10_000,
  deniedMs: 60_000,
  lingerMs: 50,
}

/**
 * Maximum number of concurrent lookups of announced services. The catalog reports changes to other
 * services.
 */
const MAX_LOOKUPS = 256
/** Pauses before the lookups of an announced service. */
const LOOKUP_PAUSES_MS = [50, 150, 300, 900]

/**
 * Registry of the services in a Consul cluster, accessed through a local or remote agent
 * (docs/consul.md). Loads the `consul` library on the first query.
 *
 * @throws {RangeError} if the domain is malformed.
 * @throws {Error} if a TLS file cannot be read.
 */
export function createConsulRegistry(options: ConsulRegistryOptions = {}): Registry {
  const { domain = DEFAULT_DOMAIN, host = '127.0.0.1', secure = false, token } = options
  const { maxWaiting = 128, maxWatched = 10_000, pollMs = 5000 } = options
  const { onWarning = (message: string) => process.emitWarning(message) } = options
  if (!isServiceName(domain)) {
    throw new RangeError(
      `domain must be letters, digits and inner dots, dashes or underscores, got ${JSON.stringify(domain)}`,
    )
  }
  const client = createConsulClient({
    ...options,
    // Adds one connection for the catalog and one for announcements.
    maxWaiting: maxWaiting + 2,
    maxResponseBytes: options.maxResponseBytes ?? 67_108_864,
  })
  const warn = createWarnings(onWarning)
  const pace = { ...PACE, ...options.pace }
  const slots = createSlots(maxWaiting, pollMs, (reason) =>
    warn(
      reason === 'full'
        ? `Consul: more services are watched than max_waiting=${maxWaiting} allows, so the remaining services are polled; raise consul://...?max_waiting= and Consul's limits.http_max_conns_per_client together`
        : `Consul rejects further connections from this address: ${slots.capacity()} services are watched, so the remaining services are polled; raise Consul's limits.http_max_conns_per_client, or lower consul://...?max_waiting= of all clients at this address`,
    ),
  )
  const announcements = createAnnouncements(client, {
    onMessage: (name) => void onMessage(name),
    warn,
  })
  const registrations = createRegistrations(client, domain, announcements.announce)
  let domains: ReadonlySet<string> = new Set()
  const queryApi = createQueries(client, {
    domain,
    warn,
    onDomains(value) {
      domains = value
    },
    onChanged: (name) => watches.get(name)?.expedite(),
  })
  const watches = new Map<string, SharedWatch>()
  let catalogWatch: SharedWatch | undefined
  let aclCheck: 'due' | 'pending' | 'done' = 'due'
  /** Announced services with a lookup in flight. */
  const lookups = new Map<string, 'once' | 'again'>()
  let closed = false

  function watchService(name: string): SharedWatch {
    const watched = watches.get(name)
    if (watched !== undefined) return watched
    if (watches.size >= maxWatched)
      throw new RangeError(`at most ${maxWatched} services can be watched in Consul`)
    const watch = createSharedWatch({
      request: (parameters) => queryApi.queryService(name, parameters),
      read: (response) => queryApi.readService(name, response),
      // A version whose nodes all fail their checks is known but not running, so it is not emitted.
      isEmitted: ({ nodes }) => nodes.length > 0,
      slots,
      pace,
      onIdle: () => watches.delete(name),
    })
    watches.set(name, watch)
    return watch
  }

  function watchAll(): SharedWatch {
    announcements.listen()
    catalogWatch ??= createSharedWatch({
      request: (parameters) => queryApi.queryCatalog(parameters),
      read: queryApi.readCatalog,
      slots: createSlots(1, pollMs, () => {}),
      pace,
      onIdle() {
        catalogWatch = undefined
      },
    })
    return catalogWatch
  }

  /**
   * Looks an announced service up several times: the announcing agent may not have synchronized
   * with the servers yet.
   */
  async function lookUp(name: string): Promise<void> {
    const before = watches.get(name)?.services()
    for (const pauseMs of LOOKUP_PAUSES_MS) {
      await delay(pauseMs, undefined, { ref: false })
      const watch = watches.get(name)
      if (closed || (watch === undefined ? queryApi.isListed(name) : watch.services() !== before))
        return
      if (watch === undefined) await discover(name)
      else watch.expedite()
    }
  }

  /** Looks up a service that the catalog does not list yet. */
  async function discover(name: string): Promise<void> {
    try {
      const services = await readOnce(queryApi.queryService(name), (response) =>
        queryApi.addUncataloged(name, response),
      )
      if (services !== undefined) catalogWatch?.update(services)
    } catch {
      // The watch of all services reports outages.
    }
  }

  async function onMessage(name: string): Promise<void> {
    if (lookups.has(name)) {
      lookups.set(name, 'again')
      return
    }
    if (lookups.size >= MAX_LOOKUPS) return
    do {
      lookups.set(name, 'once')
      await lookUp(name)
    } while (lookups.get(name) === 'again' && !closed)
    lookups.delete(name)
  }

  /**
   * Waits for the first results of the watches, so that their events start from the state before
   * the call.
   */
  async function settle(...names: string[]): Promise<void> {
    if (closed) throw createConsulError('the registry is closed')
    if (aclCheck === 'due') {
      aclCheck = 'pending'
      void warnIfNoAcl(client, { host, secure, token, warn }).then((isDone) => {
        aclCheck = isDone ? 'done' : 'due'
      })
    }
    await catalogWatch?.settled
    for (const name of names) await watches.get(name)?.settled
  }

  return {
    name: 'consul',

    async getService(name) {
      if (!isServiceName(name) || name === CONSUL_SERVICE) return []
      await settle(name)
      const watched = watches.get(name)?.services()
      return (
        watched ??
        readOnce(queryApi.queryService(name), (response) => queryApi.readService(name, response))
      )
    },

    async listServices() {
      // The first response of the watch will be newer than this call, so it can be shared.
      const first = catalogWatch?.isSettled() === false ? catalogWatch : undefined
      await settle()
      return first?.services() ?? readOnce(queryApi.queryCatalog(), queryApi.readCatalog)
    },

    listDomains: () => domains,

    async register(service, options) {
      await settle(service.name)
      await registrations.register(service, options)
    },

    async deregister(service) {
      await settle(service.name)
      await registrations.deregister(service)
    },

    watch(listener, { service, ...options } = {}) {
      if (closed || (service !== undefined && !isServiceName(service))) return () => {}
      const watch = service === undefined ? watchAll() : watchService(service)
      return watch.add(listener, options)
    },

    close() {
      closed = true
      announcements.stop()
      catalogWatch?.stop()
      for (const watch of watches.values()) watch.stop()
      watches.clear()
      client.close()
    },
  }
}

/** Sends a single query and releases the memory of its response. */
async function readOnce<T>(
  pending: Promise<ConsulResponse>,
  read: (response: ConsulResponse) => Maybe<T>,
): Promise<T> {
  const response = await pending
  const value = await read(response)
  response.release()
  return value
}
