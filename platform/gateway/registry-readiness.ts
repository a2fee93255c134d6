import type { Registry } from '../../core/contracts/registry.ts'
import { isAccessDenied } from '../../core/registry/errors.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { settlesWithin, withTimeout } from '../../lib/async/timeout.ts'

/** Timeout of a readiness query, after which the next check starts a new one. */
const RESPONSE_TIMEOUT_MS = 5000
/** Maximum wait of a check. */
const WAIT_MS = 250
const NOT_READY = 'the registry has not responded yet'
const DENIED = 'the registry denies access; see the log'

/** A registry with a readiness check. */
export interface ReadinessRegistry<R extends Registry> {
  /** Wraps the registry to detect its first response. */
  readonly registry: R
  /**
   * Returns a one-line reason why the registry is not ready, or undefined once it has responded to
   * any query. Until then, each call queries the registry, with at most one query in flight, and
   * waits up to 250 ms.
   */
  readonly problem: () => Maybe<string | undefined>
}

/**
 * Detects the first response of a registry. The absence of an outage is not sufficient, because a
 * registry that accepts connections but never responds is detected late.
 */
export function trackReadiness<R extends Registry>(source: R): ReadinessRegistry<R> {
  let isReady = false
  let problem = NOT_READY
  let pending: Promise<void> | undefined

  const track = <T>(result: Maybe<T>): Maybe<T> => {
    if (isReady) return result
    if (result instanceof Promise) return result.then(markReady)
    return markReady(result)
  }
  const markReady = <T>(result: T): T => {
    isReady = true
    return result
  }
  const registry: R = {
    ...source,
    getService: (name) => track(source.getService(name)),
    listServices: () => track(source.listServices()),
  }

  async function query(): Promise<void> {
    try {
      await withTimeout(Promise.resolve(registry.listServices()), RESPONSE_TIMEOUT_MS)
    } catch (error) {
      // The registry's watch logs the cause. The next check queries again.
      problem = isAccessDenied(error) ? DENIED : NOT_READY
    }
  }

  async function wait(): Promise<string | undefined> {
    pending ??= query().finally(() => {
      pending = undefined
    })
    await settlesWithin(pending, WAIT_MS)
    return isReady ? undefined : problem
  }

  return { registry, problem: () => (isReady ? undefined : wait()) }
}
