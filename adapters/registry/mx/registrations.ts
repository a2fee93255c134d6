import type { Node, Service } from '../../../core/contracts/registry.ts'

export interface RegistrationsOptions {
  /** Sends a registration to the registry; 0 seconds: the registry's own time to live. */
  readonly send: (service: Service, ttlSeconds: number) => Promise<void>
  /** Milliseconds that only grow. */
  readonly nowMs: () => number
}

/** What was registered by this process and holds, to be registered again when the registry may have forgotten it. */
export interface Registrations {
  readonly size: number
  /**
   * Sends a registration, and remembers it for its time to live once it was taken. What it says otherwise of a node that is
   * remembered is remembered at once: the registry may be away just now. One without end is sent again
   * before the registry's own time is over: there is none without.
   */
  readonly add: (service: Service, ttlSeconds: number) => Promise<void>
  /** Forgets the nodes, and waits for what is being sent of them: it would bring them back. */
  readonly remove: (service: Service) => Promise<void>
  /** Sends all of them again. What fails is left to the heartbeat of whoever registered it. */
  readonly renew: () => Promise<void>
  readonly close: () => void
}

/** A node that holds, with the version it belongs to. */
interface Entry {
  service: Service
  /** Infinity: until it is removed. */
  endMs: number
  sending: Promise<void>
}

/** Registrations sent at a time, when all are. */
const PARALLEL = 16
/** A third of the time the registry gives registrations that name none. */
const BEAT_MS = 30_000

export function createRegistrations({ send, nowMs }: RegistrationsOptions): Registrations {
  const entries = new Map<string, Entry>()
  let beat: NodeJS.Timeout | undefined

  async function renewOne(key: string, entry: Entry): Promise<void> {
    const leftMs = entry.endMs - nowMs()
    if (entries.get(key) !== entry) return
    if (leftMs <= 0) {
      entries.delete(key)
      return
    }
    const ttlSeconds = leftMs === Number.POSITIVE_INFINITY ? 0 : Math.ceil(leftMs / 1000)
    entry.sending = send(entry.service, ttlSeconds).catch(() => {})
    await entry.sending
  }

  async function renew(isDue: (entry: Entry) => boolean): Promise<void> {
    const due = [...entries].filter(([, entry]) => isDue(entry))
    const work = async (): Promise<void> => {
      for (let next = due.pop(); next !== undefined; next = due.pop()) await renewOne(...next)
    }
    await Promise.all(Array.from({ length: PARALLEL }, work))
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
        beat ??= setInterval(() => {
          void renew((entry) => entry.endMs === Number.POSITIVE_INFINITY)
        }, BEAT_MS).unref()
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
      clearInterval(beat)
      entries.clear()
    },
  }
}

/** No part holds a line end: they were checked. */
function toKey({ name, version }: Service, { id }: Node): string {
  return `${name}\n${version}\n${id}`
}
