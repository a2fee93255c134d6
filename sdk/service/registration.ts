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
  /** Seconds without a heartbeat after which the registry drops the node. @default 90 */
  readonly ttlSeconds?: number
  /** Maximum milliseconds between heartbeats. @default 30000 */
  readonly intervalMs?: number
  /** Maximum retry delay in milliseconds; the first delays are shorter. @default 5000 */
  readonly retryMs?: number
  /**
   * Timeout of a registry request, and of all requests at shutdown combined, in milliseconds.
   * @default 5000
   */
  readonly requestTimeoutMs?: number
  /** Monotonic clock, milliseconds. @default performance.now */
  readonly nowMs?: () => number
}

/** The registry entry of a service, renewed by heartbeats. */
export interface Registration {
  /** Marks the node as draining, so that it receives no new calls, and stops the heartbeats. */
  readonly drain: () => Promise<void>
  /** Deregisters the node. A failure is logged, and the node expires. */
  readonly end: () => Promise<void>
}

const NONE: Registration = { drain: async () => {}, end: async () => {} }
/** Number of attempts for the first registration. */
const ATTEMPTS = 3
/** Milliseconds for deregistering after a failed start. */
const DEREGISTER_TIMEOUT_MS = 1000
/** Delay of the first retry in milliseconds; doubles with each retry. */
const PAUSE_MS = 200

/**
 * Registers a service and renews the registration before its TTL (specification: States and transitions). Registries
 * that do not accept registrations, including those responding with status 501, are not retried. If the registry is
 * unavailable, the service is registered later. The outage is logged when it starts, once a minute, and when it ends.
 *
 * @throws {Error} if the registry rejects the service.
 */
export async function register(options: RegistrationOptions): Promise<Registration> {
  const { registry, entry, log, ttlSeconds = 90 } = options
  const { intervalMs = 30_000, retryMs = 5000, requestTimeoutMs = 5000 } = options
  const { nowMs = () => performance.now() } = options
  if (registry.register === undefined) return NONE
  let ended = false
  /** True if the node is or will be deregistered, so that a late response must not restore it. */
  let isDeregistering = false
  /** True if the registry does not accept registrations. */
  let isUnsupported = false
  const backOff = createBackOff({ minMs: PAUSE_MS, maxMs: retryMs })
  let isKnown = false
  let timer: NodeJS.Timeout | undefined
  let pending: Promise<void> | undefined
  /** Start time of the pending request; initially of the registration. */
  let requestedMs = nowMs()

  const outages = new Outages({
    nowMs,
    onOutage(state, { reason, durationMs }) {
      const details = { registry: registry.name, seconds: Math.round(durationMs / 1000) }
      if (state === 'ended') log.info(details, isKnown ? 'registered again' : 'registered')
      else {
        const message = state === 'started' ? 'registration failed' : 'registration still failing'
        const level = state === 'started' && isStopping(reason) ? 'info' : 'warn'
        log[level]({ ...details, reason: reason.message }, `${message}, retrying`)
      }
    },
  })
  const put = (service: ServiceEntry): Maybe<void> => registry.register!(service, { ttlSeconds })
  const deregisterNode = (): Maybe<void> => {
    isDeregistering = true
    return registry.deregister?.(entry)
  }
  const sendRegistration = (): Promise<void> => {
    const request = new Promise<void>((resolve) => resolve(put(entry)))
    // After a timeout, the request may still succeed.
    request.then(() => (isDeregistering ? deregisterNode() : undefined)).catch(() => {})
    return withTimeout(request, requestTimeoutMs)
  }
  /** Reports an attempt and schedules the next one. */
  const onResult = (error?: Error): void => {
    if (error !== undefined && isNotImplemented(error)) {
      isUnsupported = true
      log.info({ registry: registry.name }, 'the registry needs no registration')
      return
    }
    outages.report(entry.name, error, nowMs() - requestedMs)
    outages.sweep()
    isKnown ||= error === undefined
    if (error === undefined) backOff.reset()
    if (!ended) schedule(error === undefined ? toJittered(intervalMs, 0.2) : backOff.next())
  }
  // Uses jitter, so that services started together do not register together.
  const schedule = (ms: number): void => {
    timer = setTimeout(() => {
      requestedMs = nowMs()
      pending = sendRegistration().then(
        () => onResult(),
        (error) => onResult(toError(error)),
      )
    }, ms).unref()
  }

  const startMs = performance.now()
  for (let attempt = 1; ; attempt++) {
    const error = await sendRegistration().then(() => undefined, toError)
    const pauseMs = PAUSE_MS * attempt
    const isOutOfTime = performance.now() - startMs + pauseMs > requestTimeoutMs
    if (error !== undefined && isPermanent(error)) {
      await withTimeout(
        new Promise<void>((resolve) => resolve(deregisterNode())),
        Math.min(requestTimeoutMs, DEREGISTER_TIMEOUT_MS),
      ).catch(() => {})
      const problem = `cannot register ${entry.name} (${registry.name})`
      throw new Error(`${problem}: ${error.message}`, { cause: error })
    }
    if (error === undefined || isNotImplemented(error) || attempt === ATTEMPTS || isOutOfTime) {
      onResult(error)
      break
    }
    await new Promise((resolve) => setTimeout(resolve, toJittered(pauseMs, 0.2)))
  }

  let remainingMs = requestTimeoutMs
  /** Sends a final request. Requests that time out are still sent. */
  const sendFinal = async (action: string, send: () => Maybe<void>): Promise<void> => {
    const startMs = performance.now()
    ended = true
    clearTimeout(timer)
    try {
      // Otherwise a pending heartbeat would restore the node.
      await pending
      const spentMs = performance.now() - startMs
      await withTimeout(Promise.resolve(send()), Math.max(1, Math.round(remainingMs - spentMs)))
    } catch (error) {
      const details = { reason: toError(error).message, registry: registry.name }
      // A registry that is shutting down drops its nodes anyway.
      log[isStopping(error) ? 'info' : 'warn'](details, `could not ${action}`)
    }
    remainingMs -= performance.now() - startMs
  }
  return {
    async drain() {
      if (!ended && !isUnsupported)
        await sendFinal('mark as draining', () => put(toDraining(entry)))
    },
    async end() {
      if (!isUnsupported) await sendFinal('deregister', deregisterNode)
    },
  }
}

/** True for status 501, the response to `Register` from a server whose registry is Kubernetes or a static file. */
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
