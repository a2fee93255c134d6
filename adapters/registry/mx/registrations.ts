import type { Node, Service } from '../../../core/contracts/registry.ts'

export interface RegistrationsOptions {
  /**
   * Sends a registration to the registry. If `ttlSeconds` is 0, the registry's default TTL is used.
   */
  readonly send: (service: Service, ttlSeconds: number) => Promise<void>
  /** Monotonic clock in milliseconds. */
  readonly nowMs: () => number
}

/** Active registrations of this process, which are sent again after a registry outage. */
export interface Registrations {
  readonly size: number
  /**
   * Sends a registration and, once accepted, stores it for its TTL. Changes to a stored node are
   * stored before sending, because the registry may be unavailable. Registrations without a TTL are
   * renewed within the registry's default TTL.
   */
  readonly add: (service: Service, ttlSeconds: number) => Promise<void>
  /** Removes the nodes and waits for sends in flight, which would otherwise register them again. */
  readonly remove: (service: Service) => Promise<void>
  /** Sends all registrations again. Failures are left to the caller's heartbeats. */
  readonly renew: () => Promise<void>
  readonly close: () => void
}

/** A registered node with its version. */
interface Entry {
  service: Service
  /** Infinity if stored until removed. */
  endMs: number
  sending: Promise<void>
}

/** Number of concurrent sends during a renewal. */
const PARALLEL = 16
/** A third of the registry's default TTL. */
const HEARTBEAT_MS = 30_000

export function createRegistrations({ send, nowMs }: RegistrationsOptions): Registrations {
  const entries = new Map<string, Entry>()
  let heartbeat: NodeJS.Timeout | undefined

  async function renewOne(key: string, entry: Entry): Promise<void> {
    const remainingMs = entry.endMs - nowMs()
    if (entries.get(key) !== entry) return
    if (remainingMs <= 0) {
      entries.delete(key)
      return
    }
    const ttlSeconds = remainingMs === Number.POSITIVE_INFINITY ? 0 : Math.ceil(remainingMs / 1000)
    entry.sending = send(entry.service, ttlSeconds).catch(() => {})
    await entry.sending
  }

  async function renew(isDue: (entry: Entry) => boolean): Promise<void> {
    const due = [...entries].filter(([, entry]) => isDue(entry))
    const worker = async (): Promise<void> => {
      for (let next = due.pop(); next !== undefined; next = due.pop()) await renewOne(...next)
    }
    await Promise.all(Array.from({ length: PARALLEL }, worker))
  }

  return {
    get size() {
      return entries.size
    },

    async add(service, ttlSeconds) {
      const parts = service.nodes.map((node): [string, Service] => [
        toKey(service, node),
        { ...service, nodes: [node] },
      ])
      for (const [key, part] of parts) {
        const known = entries.get(key)
        if (known !== undefined) known.service = part
      }
      await send(service, ttlSeconds)
      const endMs = ttlSeconds > 0 ? nowMs() + ttlSeconds * 1000 : Number.POSITIVE_INFINITY
      if (endMs === Number.POSITIVE_INFINITY)
        heartbeat ??= setInterval(() => {
          void renew((entry) => entry.endMs === Number.POSITIVE_INFINITY)
        }, HEARTBEAT_MS).unref()
      for (const [key, part] of parts) {
        const known = entries.get(key)
        if (known !== undefined) known.endMs = endMs
        else entries.set(key, { service: part, endMs, sending: Promise.resolve() })
      }
    },

    async remove(service) {
      const sending: (Promise<void> | undefined)[] = []
      for (const node of service.nodes) {
        const key = toKey(service, node)
        sending.push(entries.get(key)?.sending)
        entries.delete(key)
      }
      await Promise.all(sending)
    },

    renew: () => renew(() => true),

    close() {
      clearInterval(heartbeat)
      entries.clear()
    },
  }
}

/** The parts are validated and contain no line feeds. */
function toKey({ name, version }: Service, { id }: Node): string {
  return `${name}\n${version}\n${id}`
}
