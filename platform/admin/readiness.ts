import type { Maybe } from '../../lib/async/maybe.ts'

/**
 * Whether a process is to be sent requests. It is not while it starts, is from {@link serve} on, and not any more from {@link leave} on,
 * while it still takes them: who asks sends the next ones elsewhere before the port is closed.
 */
export interface Readiness {
  /** Whether it has started, and does not end yet. */
  readonly isServing: boolean
  /** Why it is not ready, a line each; none: it is. */
  readonly problems: () => Maybe<readonly string[]>
  /** It has started. @param check what it lacks all the same, a line each. */
  readonly serve: (check: () => Maybe<readonly string[]>) => void
  /** It is about to end. */
  readonly leave: () => void
}

export function createReadiness(): Readiness {
  let state: 'starting' | 'serving' | 'leaving' = 'starting'
  let check: () => Maybe<readonly string[]> = () => []
  return {
    get isServing() {
      return state === 'serving'
    },

    problems() {
      if (state === 'serving') return check()
      return [state === 'starting' ? 'starting: it does not serve yet' : 'ending: it drains']
    },

    serve(given) {
      check = given
      // A signal may have come before.
      if (state === 'starting') state = 'serving'
    },

    leave() {
      state = 'leaving'
    },
  }
}
