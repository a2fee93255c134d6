import type { Maybe } from '../../lib/async/maybe.ts'

/**
 * Readiness of a process. It is not ready while it starts, ready after {@link serve}, and not ready
 * after {@link leave}. After `leave` it still accepts requests, so that load balancers can remove
 * it before the port is closed.
 */
export interface Readiness {
  /** Whether the process has started and is not shutting down. */
  readonly isServing: boolean
  /** Returns the reasons why the process is not ready; empty if it is ready. */
  readonly problems: () => Maybe<readonly string[]>
  /**
   * Marks the process as started.
   *
   * @param check returns the reasons why the process is not ready.
   */
  readonly serve: (check: () => Maybe<readonly string[]>) => void
  /** Marks the process as shutting down. */
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
      // A signal may have arrived before startup completed.
      if (state === 'starting') state = 'serving'
    },

    leave() {
      state = 'leaving'
    },
  }
}
