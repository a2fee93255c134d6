import type { Maybe } from '../../lib/async/maybe.ts'

/**
 * Readiness of a process. Not ready while it starts, ready after {@link serve}, not ready after {@link leave}. It still accepts
 * requests then, so that load balancers can remove it before the port is closed.
 */
export interface Readiness {
  /** Whether the process has started and is not ending. */
  readonly isServing: boolean
  /** Reasons why it is not ready; empty if it is. */
  readonly problems: () => Maybe<readonly string[]>
  /** Marks the process as started. @param check returns reasons why it is not ready. */
  readonly serve: (check: () => Maybe<readonly string[]>) => void
  /** Marks the process as ending. */
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
      return [state === 'starting' ? 'starting' : 'draining']
    },

    serve(next) {
      check = next
      // A signal may have arrived before.
      if (state === 'starting') state = 'serving'
    },

    leave() {
      state = 'leaving'
    },
  }
}
