import { setTimeout as delay } from 'node:timers/promises'
import type { Registry } from '../../core/contracts/registry.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { Pace } from './consul/blocking-query.ts'
import { warnIfNoAcl } from './consul/check-acl.ts'
import { type Answer, createConsulClient } from './consul/http/client.ts'
import { createConsulError } from './consul/http/errors.ts'
import type { ConsulAddress } from './consul/http/http-agent.ts'
import { createQueries } from './consul/queries.ts'
import { CONSUL_ITSELF } from './consul/read-catalog.ts'
import { createRegistrations } from './consul/registrations.ts'
import { createSharedWatch, type SharedWatch } from './consul/shared-watch.ts'
import { DEFAULT_DOMAIN } from './consul/tags.ts'
import { createAnnouncements } from './consul/user-events.ts'
import { createWarnings } from './consul/warnings.ts'
import { createSlots } from './consul/watch-slots.ts'

/** Where Consul is, and how much it is asked. */
export interface ConsulRegistryOptions extends ConsulAddress {
  /** Only services of this domain are seen, and registered in it. @default mx */
  readonly domain?: string
  /** Questions that wait at Consul at once, each on a connection of its own: one for each watched service, those used last first. Consul allows 200 connections from an address by default. @default 128, divided among the workers of a gateway */
  readonly maxWaiting?: number
  /** Most services watched; those beyond `maxWaiting` are asked in turn. @default 10000 */
  readonly maxWatched?: number
  /** Milliseconds between two questions about a service nobody uses for which no connection is left, at least. @default 5000 */
  readonly pollMs?: number
  /** Longest answer read, bytes. @default 67108864 */
  readonly maxAnswerBytes?: number
  /** How often is asked. */
  readonly pace?: Partial<Pace>
  /** Told what is left out of the catalog and what is dangerous. @default process.emitWarning */
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

/** Most announced services looked for at once: changes of the others the catalog tells. */
const MAX_HEARD = 256
/** Pauses before each question about one. */
const LOOK_MS = [50, 150, 300, 900]

/**
 * The services of a Consul cluster, by a local or remote agent (docs/consul.md). Loads the library `consul` when it is first
 * asked.
 *
 * @throws {RangeError} when the domain is no name.
 * @throws {Error} when a file of the TLS options cannot be read.
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
    // And one for the catalog, and one for announcements.
    maxWaiting: maxWaiting + 2,
    maxAnswerBytes: options.maxAnswerBytes ?? 67_108_864,
  })
  const warn = createWarnings(onWarning)
  const pace = { ...PACE, ...options.pace }
  const slots = createSlots(maxWaiting, pollMs, (why) =>
    warn(
      why === 'full'
        ? `Consul: more services are watched than the ${maxWaiting} connections for that, the others are asked in turn; raise consul://...?max_waiting= (maxWaiting) and Consul's limits.http_max_conns_per_client together`
        : `Consul takes no more connections from this address: ${slots.places()} services are watched, the others are asked in turn; raise Consul's limits.http_max_conns_per_client, or lower consul://...?max_waiting= (maxWaiting) of all who share the address`,
    ),
  )
  const announcements = createAnnouncements(client, {
    onMessage: (name) => void onMessage(name),
    warn,
  })
  const registrations = createRegistrations(client, domain, announcements.announce)
  let domains: ReadonlySet<string> = new Set()
  const questions = createQueries(client, {
    domain,
    warn,
    onDomains(told) {
      domains = told
    },
    onChanged: (name) => watches.get(name)?.hurry(),
  })
  const watches = new Map<string, SharedWatch>()
  let ofAll: SharedWatch | undefined
  let guard: 'due' | 'asking' | 'done' = 'due'
  /** Services announced, while they are looked for. */
  const heard = new Map<string, 'once' | 'again'>()
  let closed = false

  function watchService(name: string): SharedWatch {
    const known = watches.get(name)
    if (known !== undefined) return known
    if (watches.size >= maxWatched)
      throw new RangeError(`at most ${maxWatched} services of Consul can be watched at once`)
    const watch = createSharedWatch({
      ask: (question) => questions.askService(name, question),
      read: (answer) => questions.readService(name, answer),
      // A version whose nodes are all unwell is known, not running.
      isTold: ({ nodes }) => nodes.length > 0,
      slots,
      pace,
      onIdle: () => watches.delete(name),
    })
    watches.set(name, watch)
    return watch
  }

  function watchAll(): SharedWatch {
    announcements.listen()
    ofAll ??= createSharedWatch({
      ask: (question) => questions.askCatalog(question),
      read: questions.readCatalog,
      slots: createSlots(1, pollMs, () => {}),
      pace,
      onIdle() {
        ofAll = undefined
      },
    })
    return ofAll
  }

  /** Looks for what somebody says has changed, some times: whose agent may not have told the servers yet. */
  async function look(name: string): Promise<void> {
    const before = watches.get(name)?.services()
    for (const pauseMs of LOOK_MS) {
      await delay(pauseMs, undefined, { ref: false })
      const watch = watches.get(name)
      if (closed || (watch === undefined ? questions.isListed(name) : watch.services() !== before))
        return
      if (watch === undefined) await discover(name)
      else watch.hurry()
    }
  }

  /** Asks for a service the catalog does not list yet. */
  async function discover(name: string): Promise<void> {
    try {
      const services = await readOnce(questions.askService(name), (answer) =>
        questions.note(name, answer),
      )
      if (services !== undefined) ofAll?.learn(services)
    } catch {
      // The watch of all services tells of outages.
    }
  }

  async function onMessage(name: string): Promise<void> {
    if (heard.has(name)) {
      heard.set(name, 'again')
      return
    }
    if (heard.size >= MAX_HEARD) return
    do {
      heard.set(name, 'once')
      await look(name)
    } while (heard.get(name) === 'again' && !closed)
    heard.delete(name)
  }

  /** Before Consul is asked or told anything: what watchers are told begins with the state of before. */
  async function settle(...names: string[]): Promise<void> {
    if (closed) throw createConsulError('the registry is closed')
    if (guard === 'due') {
      guard = 'asking'
      void warnIfNoAcl(client, { host, secure, token, warn }).then((isDone) => {
        guard = isDone ? 'done' : 'due'
      })
    }
    await ofAll?.settled
    for (const name of names) await watches.get(name)?.settled
  }

  return {
    name: 'consul',

    async getService(name) {
      if (!isServiceName(name) || name === CONSUL_ITSELF) return []
      await settle(name)
      const known = watches.get(name)?.services()
      return (
        known ??
        readOnce(questions.askService(name), (answer) => questions.readService(name, answer))
      )
    },

    async listServices() {
      // The first answer of a watch comes after this question: one of its own would be told the same.
      const first = ofAll?.isSettled() === false ? ofAll : undefined
      await settle()
      return first?.services() ?? readOnce(questions.askCatalog(), questions.readCatalog)
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
      ofAll?.stop()
      for (const watch of watches.values()) watch.stop()
      watches.clear()
      client.close()
    },
  }
}

/** What an answer tells that nobody waits for again. */
async function readOnce<T>(
  asking: Promise<Answer>,
  read: (answer: Answer) => Maybe<T>,
): Promise<T> {
  const answer = await asking
  const told = await read(answer)
  answer.release()
  return told
}
