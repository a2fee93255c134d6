import type { RegisterOptions, Service } from '../../../core/contracts/registry.ts'
import { checkService } from '../../../core/registry/service.ts'
import { createExpiryWheel } from '../../../lib/collections/expiry-wheel.ts'
import { type ConsulClient, joinChunks } from './http/client.ts'
import { createConsulError, isConsulError, toNotConsulText } from './http/errors.ts'
import { type Registration, toConsulId, toRegistration } from './registration.ts'

/** Registers nodes of this process with its agent. */
export interface Registrations {
  readonly register: (service: Service, options?: RegisterOptions) => Promise<void>
  readonly deregister: (service: Service) => Promise<void>
}

/** The last registration sent for a node. */
interface Sent {
  readonly text: string
  readonly draining: boolean
}

/** Minimum value of `DeregisterCriticalServiceAfter` in seconds. */
const MIN_DEREGISTER_SECONDS = 60
const REASON = 'mx: draining'
/** Maximum length of a quoted response in characters. */
const MAX_EXCERPT = 80

/**
 * @param announce called with the service name after its nodes change.
 * @param nowMs monotonic clock.
 */
export function createRegistrations(
  client: ConsulClient,
  domain: string,
  announce: (name: string) => Promise<void> = async () => {},
  nowMs: () => number = () => performance.now(),
): Registrations {
  const sent = new Map<string, Sent>()
  /**
   * Expires registrations without heartbeats, because their nodes may have been removed elsewhere.
   */
  const expiry = createExpiryWheel<string>()
  /** Last operation of each node. Operations are sent in order. */
  const queues = new Map<string, Promise<void>>()

  function enqueue(id: string, act: () => Promise<void>): Promise<void> {
    const operation = (queues.get(id) ?? Promise.resolve()).then(act, act)
    queues.set(id, operation)
    const done = (): void => {
      if (queues.get(id) === operation) queues.delete(id)
    }
    operation.then(done, done)
    return operation
  }

  async function send(registration: Registration): Promise<void> {
    const { id, draining, ttlSeconds } = registration
    const text = JSON.stringify({ ...registration, draining: undefined })
    const previous = sent.get(id)
    if (previous?.text === text && (await sendHeartbeat(registration))) {
      if (previous.draining === draining) return renew(registration, text)
      await maintain(registration)
    } else {
      sent.delete(id)
      await put(registration)
      // A process killed while draining may have left its id in maintenance mode.
      await maintain(registration)
      // A restarted agent restores the result of a pass request, but not the initial status of a
      // registration.
      if (ttlSeconds > 0) await pass(registration)
    }
    renew(registration, text)
    void announce(registration.name)
  }

  function renew({ id, draining, ttlSeconds }: Registration, text: string): void {
    sent.set(id, { text, draining })
    expiry.set(id, ttlSeconds > 0 ? nowMs() + ttlSeconds * 1000 : Number.POSITIVE_INFINITY)
  }

  /** Sends a heartbeat. Returns false if the agent does not know the node. */
  async function sendHeartbeat(registration: Registration): Promise<boolean> {
    try {
      if (registration.ttlSeconds > 0) await pass(registration)
      else await maintain(registration)
      return true
    } catch (error) {
      if (isConsulError(error) && error.notFound) return false
      throw error
    }
  }

  async function pass({ id, name }: Registration): Promise<void> {
    await client.request(
      (consul, call) => consul.agent.check.pass({ id: toCheckId(id), ...call }),
      {
        needs: toWrite(name),
      },
    )
  }

  async function put({ weight, ttlSeconds, draining, ...entry }: Registration): Promise<void> {
    const check = {
      checkid: toCheckId(entry.id),
      name: 'mx heartbeat',
      ttl: `${ttlSeconds}s`,
      // Required by the library's types, but not sent with a TTL.
      timeout: '',
      status: draining ? 'critical' : 'passing',
      deregistercriticalserviceafter: `${Math.max(MIN_DEREGISTER_SECONDS, ttlSeconds)}s`,
    }
    const { chunks } = await client.request(
      (consul, call) =>
        consul.agent.service.register({ ...entry, ...(ttlSeconds > 0 && { check }), ...call }),
      // The library does not support weights.
      { needs: toWrite(entry.name), extra: { Weights: { Passing: weight, Warning: 1 } } },
    )
    // Consul's response is empty, whereas a server that accepts any request responds with a body.
    if (chunks.length > 0) {
      const excerpt = JSON.stringify(joinChunks(chunks).toString().slice(0, MAX_EXCERPT))
      throw createConsulError(
        toNotConsulText(client.authority, `it responded to a registration with ${excerpt}`),
        {
          denied: true,
        },
      )
    }
  }

  async function maintain({ id, name, draining }: Registration): Promise<void> {
    await client.request(
      (consul, call) =>
        consul.agent.service.maintenance({ id, enable: draining, reason: REASON, ...call }),
      { needs: toWrite(name) },
    )
  }

  async function remove(name: string, id: string): Promise<void> {
    sent.delete(id)
    expiry.delete(id)
    try {
      await client.request((consul, call) => consul.agent.service.deregister({ id, ...call }), {
        needs: toWrite(name),
      })
    } catch (error) {
      if (!isConsulError(error) || !error.notFound) throw error
      return
    }
    // Awaited because the process may exit after deregistration.
    await announce(name)
  }

  return {
    async register(service, { ttlSeconds = 0 } = {}) {
      checkService(service)
      if (service.nodes.length === 0)
        throw new TypeError(`service ${service.name} must be registered with at least one node`)
      for (const id of expiry.takeDue(nowMs())) sent.delete(id)
      const registrations = service.nodes.map((node) =>
        toRegistration(service, node, domain, ttlSeconds),
      )
      await Promise.all(
        registrations.map((registration) => enqueue(registration.id, () => send(registration))),
      )
    },

    async deregister({ name, nodes }) {
      const ids = nodes.map(({ id }) => toConsulId(name, id))
      await Promise.all(ids.map((id) => enqueue(id, () => remove(name, id))))
    },
  }
}

function toCheckId(id: string): string {
  return `service:${id}`
}

function toWrite(name: string): string {
  return `service:write ${JSON.stringify(name)}`
}
