import type { Maybe } from '../core/chain.ts'
import type { Registry } from '../core/contracts/registry.ts'
import { isDoneIn } from '../core/done-in.ts'
import { inTime } from '../core/in-time.ts'

/** A question not answered by then is put anew, the next time somebody wants to know. */
const ANSWER_MS = 5000
/** Whoever wants to know waits no longer. */
const WAIT_MS = 250

/**
 * Whether a registry has answered once. That no outage is known does not tell: one that takes connections and never answers has none for long.
 *
 * Until it has, each call asks it for its services, of which one question is on its way at a time, and waits up to 250 ms.
 */
export function createFirstAnswer(registry: Pick<Registry, 'listServices'>): () => Maybe<boolean> {
  let hasAnswered = false
  let asking: Promise<void> | undefined

  async function ask(): Promise<void> {
    try {
      await inTime(Promise.resolve(registry.listServices()), ANSWER_MS)
      hasAnswered = true
    } catch {
      // Its watch tells why, and who wants to know asks again.
    }
  }

  async function wait(): Promise<boolean> {
    asking ??= ask().finally(() => {
      asking = undefined
    })
    await isDoneIn(asking, WAIT_MS)
    return hasAnswered
  }

  return () => hasAnswered || wait()
}
