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
}

/** The entry of a service in the registry, kept alive until it ends. */
export interface Registration {
  /** Takes the node out of the registry; a failure is logged, and the node expires. */
  readonly end: () => Promise<void>
}

/** Milliseconds the registry may take to answer. */
const ANSWER_MS = 5000
/** Attempts of the first registration. */
const ATTEMPTS = 3
const PAUSE_MS = 200

/**
 * Registers a service, and again before its TTL is over (specification: States and transitions). A registry that takes no
 * registrations knows its services by itself, and is left alone.
 *
 * @throws {Error} when the registry refuses, or does not answer, three times.
 */
export async function register(options: RegistrationOptions): Promise<Registration> {
  const { registry, entry, log, ttlSeconds = 90, intervalMs = 30_000, retryMs = 5000 } = options
  if (registry.register === undefined) return { end: async () => {} }
  let ended = false
  let timer: NodeJS.Timeout | undefined
  let pending: Promise<void> | undefined

  const tell = (): Promise<void> =>
    inTime(Promise.resolve(registry.register!(entry, { ttlSeconds })), ANSWER_MS)
  const beat = async (): Promise<void> => {
    let nextMs = intervalMs
    try {
      await tell()
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
      await tell()
      break
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      if (attempt === ATTEMPTS || cause instanceof TypeError)
        throw new Error(`cannot register ${entry.name} (${registry.name}): ${reason}`, { cause })
      await new Promise((resolve) => setTimeout(resolve, toJittered(PAUSE_MS * attempt)))
    }
  }
  schedule(intervalMs)
  return {
    async end() {
      if (ended) return
      ended = true
      clearTimeout(timer)
      // One that is under way would bring the node back.
      await pending
      try {
        await inTime(Promise.resolve(registry.deregister?.(entry)), ANSWER_MS)
      } catch (error) {
        log.warn({ err: error, registry: registry.name }, 'could not deregister')
      }
    },
  }
}

function toJittered(ms: number): number {
  return ms * (0.8 + Math.random() * 0.2)
}
