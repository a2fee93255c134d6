import type { Registry, Service as ServiceEntry } from '../../core/contracts/registry.ts'
import { GatewayError } from '../../core/errors.ts'
import { isStopping } from '../../core/is-stopping.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import { isPermanent } from '../../core/registry/errors.ts'
import { Outages } from '../../core/registry/outage-tracker.ts'
import { createBackOff, toJittered } from '../../lib/async/backoff.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { withTimeout } from '../../lib/async/timeout.ts'

export interface RegistrationOptions {
  readonly registry: Registry
  readonly entry: ServiceEntry
  readonly log: PluginLog
  /** Seconds without a sign of life after which the registry drops the node. @default 90 */
  readonly ttlSeconds?: number
  /** Milliseconds between two signs of life, at most. @default 30000 */
  readonly intervalMs?: number
  /** Milliseconds until one that failed is repeated, at most; sooner at first. @default 5000 */
  readonly retryMs?: number
  /** Milliseconds the registry may take to answer, at the end all that it is told together. @default 5000 */
  readonly answerMs?: number
  /** Milliseconds that only grow. @default performance.now */
  readonly nowMs?: () => number
}

/** The entry of a service in the registry, kept alive until it ends. */
export interface Registration {
  /** Tells that the node is about to leave: whoever watches gives it nothing new. There are no more signs of life. */
  readonly drain: () => Promise<void>
  /** Takes the node out of the registry; a failure is logged, and the node expires. */
  readonly end: () => Promise<void>
}

const NONE: Registration = { drain: async () => {}, end: async () => {} }
/** Attempts of the first registration. */
const ATTEMPTS = 3
/** Milliseconds a start that failed waits for its node to be taken back. */
const UNDO_MS = 1000
/** Milliseconds until an attempt that failed is repeated, doubled each time. */
const PAUSE_MS = 200

/**
 * Registers a service, and again before its TTL is over (specification: States and transitions). A registry that takes no
 * registrations knows its services by itself, and is left alone, also one that says so with status 501; one that does not answer is told as soon as it does, and
 * the log says so: when that begins, once a minute, and when it is over.
 *
 * @throws {Error} when the registry refuses.
 */
export async function register(options: RegistrationOptions): Promise<Registration> {
  const { registry, entry, log, ttlSeconds = 90 } = options
  const { intervalMs = 30_000, retryMs = 5000, answerMs = 5000 } = options
  const { nowMs = () => performance.now() } = options
  if (registry.register === undefined) return NONE
  let ended = false
  /** It has left the registry, or is about to: an answer that comes now must not bring it back. */
  let left = false
  /** The registry knows its services by itself. */
  let isUnneeded = false
  const backOff = createBackOff({ minMs: PAUSE_MS, maxMs: retryMs })
  let isKnown = false
  let timer: NodeJS.Timeout | undefined
  let pending: Promise<void> | undefined
  /** When the registry was told what it is to answer; at the start, for the first time. */
  let requestedMs = nowMs()

  const outages = new Outages({
    nowMs,
    onOutage(state, { reason, forMs }) {
      const details = { registry: registry.name, seconds: Math.round(forMs / 1000) }
      if (state === 'ended') log.info(details, isKnown ? 'registered again' : 'registered')
      else {
        const message = state === 'began' ? 'could not register' : 'still cannot register'
        const level = state === 'began' && isStopping(reason) ? 'info' : 'warn'
        log[level]({ ...details, reason: reason.message }, `${message}; trying again`)
      }
    },
  })
  const tell = (what: ServiceEntry): Maybe<void> => registry.register!(what, { ttlSeconds })
  const leave = (): Maybe<void> => {
    left = true
    return registry.deregister?.(entry)
  }
  const sign = (): Promise<void> => {
    const answer = new Promise<void>((resolve) => resolve(tell(entry)))
    // That there was no answer in time does not say that nothing was done, or will be.
    answer.then(() => (left ? leave() : undefined)).catch(() => {})
    return withTimeout(answer, answerMs)
  }
  /** Tells of an attempt, and of the next one. */
  const follow = (error?: Error): void => {
    if (error !== undefined && isNotImplemented(error)) {
      isUnneeded = true
      log.info({ registry: registry.name }, 'the registry needs no registration')
      return
    }
    outages.tell(entry.name, error, nowMs() - requestedMs)
    outages.sweep()
    isKnown ||= error === undefined
    if (error === undefined) backOff.reset()
    if (!ended) schedule(error === undefined ? toJittered(intervalMs, 0.2) : backOff.next())
  }
  // Jittered: services that began together are not to come together.
  const schedule = (ms: number): void => {
    timer = setTimeout(() => {
      requestedMs = nowMs()
      pending = sign().then(
        () => follow(),
        (error) => follow(toError(error)),
      )
    }, ms).unref()
  }

  const startMs = performance.now()
  for (let attempt = 1; ; attempt++) {
    const error = await sign().then(() => undefined, toError)
    const pauseMs = PAUSE_MS * attempt
    const isLate = performance.now() - startMs + pauseMs > answerMs
    if (error !== undefined && isPermanent(error)) {
      await withTimeout(
        new Promise<void>((resolve) => resolve(leave())),
        Math.min(answerMs, UNDO_MS),
      ).catch(() => {})
      const what = `cannot register ${entry.name} (${registry.name})`
      throw new Error(`${what}: ${error.message}`, { cause: error })
    }
    if (error === undefined || isNotImplemented(error) || attempt === ATTEMPTS || isLate) {
      follow(error)
      break
    }
    await new Promise((resolve) => setTimeout(resolve, toJittered(pauseMs, 0.2)))
  }

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
      await withTimeout(Promise.resolve(send()), Math.max(1, Math.round(leftMs - spentMs)))
    } catch (error) {
      const details = { reason: toError(error).message, registry: registry.name }
      // A registry that is being stopped forgets its nodes.
      log[isStopping(error) ? 'info' : 'warn'](details, `could not ${what}`)
    }
    leftMs -= performance.now() - startMs
  }
  return {
    async drain() {
      if (!ended && !isUnneeded) await tellLast('tell of draining', () => tell(toDraining(entry)))
    },
    async end() {
      if (!isUnneeded) await tellLast('deregister', leave)
    },
  }
}

/** Of registries behind a server: where Kubernetes or a static file says what runs, `Register` is 501. */
function isNotImplemented(error: Error): boolean {
  return error instanceof GatewayError && error.code === 501
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

function toDraining(entry: ServiceEntry): ServiceEntry {
  const nodes = entry.nodes.map(({ metadata, ...node }) => ({
    ...node,
    metadata: { ...metadata, state: 'draining' },
  }))
  return { ...entry, nodes }
}
