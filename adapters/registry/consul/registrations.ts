import type { RegisterOptions, Service } from '../../../core/contracts/registry.ts'
import { checkService } from '../../../core/registry/service.ts'
import { createExpiryWheel } from '../../../lib/collections/expiry-wheel.ts'
import { type ConsulClient, joinChunks } from './http/client.ts'
import { createConsulError, isConsulError, toNotConsulText } from './http/errors.ts'
import { type Registration, toConsulId, toRegistration } from './registration.ts'

/** The nodes this process registers with its agent. */
export interface Registrations {
  readonly register: (service: Service, options?: RegisterOptions) => Promise<void>
  readonly deregister: (service: Service) => Promise<void>
}

/** What the agent was told of a node. */
interface Known {
  readonly text: string
  readonly draining: boolean
}

/** Shortest time Consul takes for `DeregisterCriticalServiceAfter`, seconds. */
const MIN_DEREGISTER_SECONDS = 60
const REASON = 'mx: draining'
/** Longest text of others repeated in a message. */
const MAX_SHOWN = 80

/**
 * @param announce told the name of a service of which a node came, went or changed.
 * @param nowMs milliseconds that only grow.
 */
export function createRegistrations(
  client: ConsulClient,
  domain: string,
  announce: (name: string) => Promise<void> = async () => {},
  nowMs: () => number = () => performance.now(),
): Registrations {
  const known = new Map<string, Known>()
  /** Ids of nodes that are kept alive: of those that died elsewhere nobody says that they did. */
  const expiry = createExpiryWheel<string>()
  /** The last thing done about a node: what is told of it must arrive in the order it was said. */
  const turns = new Map<string, Promise<void>>()

  function inTurn(id: string, act: () => Promise<void>): Promise<void> {
    const turn = (turns.get(id) ?? Promise.resolve()).then(act, act)
    turns.set(id, turn)
    const done = (): void => {
      if (turns.get(id) === turn) turns.delete(id)
    }
    turn.then(done, done)
    return turn
  }

  async function tell(registration: Registration): Promise<void> {
    const { id, draining, ttlSeconds } = registration
    const text = JSON.stringify({ ...registration, draining: undefined })
    const old = known.get(id)
    if (old?.text === text && (await isKept(registration))) {
      if (old.draining === draining) return renew(registration, text)
      await maintain(registration)
    } else {
      known.delete(id)
      await put(registration)
      // One that was killed while it drained may have left its id in maintenance.
      await maintain(registration)
      // An agent that is restarted remembers what passed, not what was registered as passing.
      if (ttlSeconds > 0) await pass(registration)
    }
    renew(registration, text)
    void announce(registration.name)
  }

  function renew({ id, draining, ttlSeconds }: Registration, text: string): void {
    known.set(id, { text, draining })
    expiry.set(id, ttlSeconds > 0 ? nowMs() + ttlSeconds * 1000 : Number.POSITIVE_INFINITY)
  }

  /** Gives a sign of life; false: the agent has forgotten the node. */
  async function isKept(registration: Registration): Promise<boolean> {
    try {
      if (registration.ttlSeconds > 0) await pass(registration)
      else await maintain(registration)
      return true
    } catch (error) {
      if (isConsulError(error) && error.gone) return false
      throw error
    }
  }

  async function pass({ id, name }: Registration): Promise<void> {
    await client.ask((consul, call) => consul.agent.check.pass({ id: toCheckId(id), ...call }), {
      needs: toWrite(name),
    })
  }

  async function put({ weight, ttlSeconds, draining, ...entry }: Registration): Promise<void> {
    const check = {
      checkid: toCheckId(entry.id),
      name: 'mx heartbeat',
      ttl: `${ttlSeconds}s`,
      // The library's types want one; it is not sent with a TTL.
      timeout: '',
      status: draining ? 'critical' : 'passing',
      deregistercriticalserviceafter: `${Math.max(MIN_DEREGISTER_SECONDS, ttlSeconds)}s`,
    }
    const { chunks } = await client.ask(
      (consul, call) =>
        consul.agent.service.register({ ...entry, ...(ttlSeconds > 0 && { check }), ...call }),
      // The library knows no weights.
      { needs: toWrite(entry.name), extra: { Weights: { Passing: weight, Warning: 1 } } },
    )
    // Consul says nothing to it; a server that takes whatever it is sent does.
    if (chunks.length > 0) {
      const shown = JSON.stringify(joinChunks(chunks).toString().slice(0, MAX_SHOWN))
      throw createConsulError(
        toNotConsulText(client.where, `it answers a registration with ${shown}`),
        {
          denied: true,
        },
      )
    }
  }

  async function maintain({ id, name, draining }: Registration): Promise<void> {
    await client.ask(
      (consul, call) =>
        consul.agent.service.maintenance({ id, enable: draining, reason: REASON, ...call }),
      { needs: toWrite(name) },
    )
  }

  async function remove(name: string, id: string): Promise<void> {
    known.delete(id)
    expiry.delete(id)
    try {
      await client.ask((consul, call) => consul.agent.service.deregister({ id, ...call }), {
        needs: toWrite(name),
      })
    } catch (error) {
      if (!isConsulError(error) || !error.gone) throw error
      return
    }
    // Whoever deregisters may end next.
    await announce(name)
  }

  return {
    async register(service, { ttlSeconds = 0 } = {}) {
      checkService(service)
      if (service.nodes.length === 0)
        throw new TypeError(`service ${service.name} must be registered with a node`)
      for (const id of expiry.takeDue(nowMs())) known.delete(id)
      const registrations = service.nodes.map((node) =>
        toRegistration(service, node, domain, ttlSeconds),
      )
      await Promise.all(
        registrations.map((registration) => inTurn(registration.id, () => tell(registration))),
      )
    },

    async deregister({ name, nodes }) {
      const ids = nodes.map(({ id }) => toConsulId(name, id))
      await Promise.all(ids.map((id) => inTurn(id, () => remove(name, id))))
    },
  }
}

function toCheckId(id: string): string {
  return `service:${id}`
}

function toWrite(name: string): string {
  return `service:write ${JSON.stringify(name)}`
}
