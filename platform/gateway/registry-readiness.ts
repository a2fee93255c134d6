import type { Registry } from '../../core/contracts/registry.ts'
import { isAccessDenied } from '../../core/registry/errors.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { settlesWithin, withTimeout } from '../../lib/async/timeout.ts'

/** A question not answered by then is put anew, the next time somebody wants to know. */
const ANSWER_MS = 5000
/** Whoever wants to know waits no longer. */
const WAIT_MS = 250
const NO_ANSWER = 'the registry has not answered yet'
const REFUSED = 'the registry refuses access: the log says why'

/** A registry of which it is known whether it has answered. */
export interface ReadinessRegistry<R extends Registry> {
  /** As it was given; who asks it by this one is answered the same, and noticed. */
  readonly registry: R
  /**
   * Why nothing is known from it, in a line; undefined: it has answered anybody once. Until it has, each call asks it for its services,
   * of which one question is on its way at a time, and waits up to 250 ms.
   */
  readonly problem: () => Maybe<string | undefined>
}

/**
 * Notices when a registry has answered for the first time. That no outage is known does not tell: one that takes connections and never
 * answers has none for long.
 */
export function trackReadiness<R extends Registry>(given: R): ReadinessRegistry<R> {
  let hasAnswered = false
  let problem = NO_ANSWER
  let asking: Promise<void> | undefined

  const hear = <T>(answer: Maybe<T>): Maybe<T> => {
    if (hasAnswered) return answer
    if (answer instanceof Promise) return answer.then(noted)
    return noted(answer)
  }
  const noted = <T>(answer: T): T => {
    hasAnswered = true
    return answer
  }
  const registry: R = {
    ...given,
    getService: (name) => hear(given.getService(name)),
    listServices: () => hear(given.listServices()),
  }

  async function ask(): Promise<void> {
    try {
      await withTimeout(Promise.resolve(registry.listServices()), ANSWER_MS)
    } catch (error) {
      // Its watch tells why, and who wants to know asks again.
      problem = isAccessDenied(error) ? REFUSED : NO_ANSWER
    }
  }

  async function wait(): Promise<string | undefined> {
    asking ??= ask().finally(() => {
      asking = undefined
    })
    await settlesWithin(asking, WAIT_MS)
    return hasAnswered ? undefined : problem
  }

  return { registry, problem: () => (hasAnswered ? undefined : wait()) }
}
