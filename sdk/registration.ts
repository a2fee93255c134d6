import type { Maybe } from '../core/chain.ts'
import type { Registry, Service as ServiceEntry } from '../core/contracts/registry.ts'
import type { PluginLog } from '../core/define-plugin.ts'
import { inTime } from '../core/in-time.ts'

export interface RegistrationOptions {
  readonly registry: Registry
  readonly entry: ServiceEntry
  readonly log: PluginLog
  /** Seconds without a sign of life after which the registry drops the node. @default 90 */
  readonly ttlSeconds?: number
  /** Milliseconds between two signs of life, at most. @default 30000 */
  readonly intervalMs?: number
  /** Milliseconds until one that failed is repeated, at most. @default 5000 */
  readonly retryMs?: number
  /** Milliseconds the registry may take to answer, at the end all that it is told together. @default 5000 */
  readonly answerMs?: number
}

/** The entry of a service in the registry, kept alive until it ends. */
export interface Registration {
  /** Tells that the node is about to leave: whoever watches gives it nothing new. There are no more signs of life. */
  readonly drain: () => Promise<void>
  /** Takes the node out of the registry; a failure is logged, and the node expires. */
  readonly end: () => Promise<void>
}

/** Attempts of the first registration. */
const ATTEMPTS = 3
/** Milliseconds a start that failed waits for its node to be taken back. */
const UNDO_MS = 1000
const PAUSE_MS = 200

/**
 * Registers a service, and again before its TTL is over (specification: States and transitions). A registry that takes no
 * registrations knows its services by itself, and is left alone.
 *
 * @throws {Error} when the registry refuses, or does not answer, three times.
 */
export async function register(options: RegistrationOptions): Promise<Registration> {
  const { registry, entry, log, ttlSeconds = 90 } = options
  const { intervalMs = 30_000, retryMs = 5000, answerMs = 5000 } = options
  if (registry.register === undefined) return { drain: async () => {}, end: async () => {} }
  let ended = false
  let timer: NodeJS.Timeout | undefined
  let pending: Promise<void> | undefined

  const tell = (what: ServiceEntry): Maybe<void> => registry.register!(what, { ttlSeconds })
  const undo = async (): Promise<void> => registry.deregister?.(entry)
  let failed = false
  const sign = (): Promise<void> => {
    const answer = new Promise<void>((resolve) => resolve(tell(entry)))
    answer.then(() => (failed ? undo() : undefined)).catch(() => {})
    return inTime(answer, answerMs)
  }
  const beat = async (): Promise<void> => {
    let nextMs = intervalMs
    try {
      await sign()
    } catch (error) {
      nextMs = retryMs
      log.warn({ err: error, registry: registry.name }, 'could not register')
    }
    if (!ended) schedule(nextMs)
  }
  // Jittered: services that began together are not to come together.
  const schedule = (ms: number): void => {
    timer = setTimeout(() => {
      pending = beat()
    }, toJittered(ms)).unref()
  }

  for (let attempt = 1; ; attempt++) {
    try {
      await sign()
      break
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      if (attempt === ATTEMPTS || cause instanceof TypeError) {
        // That there was no answer in time does not say that nothing was done, or will be.
        failed = true
        await inTime(undo(), Math.min(answerMs, UNDO_MS)).catch(() => {})
        throw new Error(`cannot register ${entry.name} (${registry.name}): ${reason}`, { cause })
      }
      await new Promise((resolve) => setTimeout(resolve, toJittered(PAUSE_MS * attempt)))
    }
  }
  schedule(intervalMs)

  let leftMs = answerMs
  /** What there is no time to wait for is sent all the same. */
  const tellLast = async (what: string, send: () => Maybe<void>): Promise<void> => {
    const startMs = performance.now()
    ended = true
    clearTimeout(timer)
    try {
      // One that is under way would bring the node back.
      await pending
      const spentMs = performance.now() - startMs
      await inTime(Promise.resolve(send()), Math.max(1, leftMs - spentMs))
    } catch (error) {
      log.warn({ err: error, registry: registry.name }, `could not ${what}`)
    }
    leftMs -= performance.now() - startMs
  }
  return {
    async drain() {
      if (!ended) await tellLast('tell of draining', () => tell(toDraining(entry)))
    },
    end: () => tellLast('deregister', () => registry.deregister?.(entry)),
  }
}

function toDraining(entry: ServiceEntry): ServiceEntry {
  const nodes = entry.nodes.map(({ metadata, ...node }) => ({
    ...node,
    metadata: { ...metadata, state: 'draining' },
  }))
  return { ...entry, nodes }
}

function toJittered(ms: number): number {
  return ms * (0.8 + Math.random() * 0.2)
}
