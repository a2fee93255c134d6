import { ADMIN } from '../../core/auth/policy/account-rights.ts'
import { SharedPlaces } from '../../core/limits/shared-places.ts'
import type { Account, Context } from '../../sdk/context.ts'
import { tooManyRequests, unavailable } from '../../sdk/errors.ts'

export interface Watchers {
  /**
   * Returns the events of `stream` until the caller leaves or the service stops.
   *
   * @throws {GatewayError} 429 if there are too many watchers, 503 while the service is stopping.
   */
  readonly open: <T>(
    ctx: Context,
    errorId: string,
    stream: (signal: AbortSignal) => AsyncIterable<T>,
  ) => AsyncIterable<T>
  /** Ends all streams with 503 and rejects new ones. */
  readonly close: () => void
}

/**
 * Returns whether an account enforces or administers rules. Services and administrators do.
 */
export function isEnforcer({ type, scopes }: Account): boolean {
  return type === 'service' || scopes.includes(ADMIN)
}

/**
 * @param max maximum number of watchers. Nine tenths are reserved for enforcers, so that others
 * cannot block them.
 */
export function createWatchers(max: number): Watchers {
  const maxNonEnforcers = Math.ceil(max / 10)
  const slots = new SharedPlaces(max, 'watchers')
  const all = new Set<AbortController>()
  const nonEnforcers = new Set<AbortController>()
  let closed = false

  async function* run<T>(
    watcher: AbortController,
    { signal, account }: Context,
    errorId: string,
    stream: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncIterable<T> {
    const releaseSlot = slots.enter(account?.issuer ?? '', errorId)
    const leave = (): void => watcher.abort()
    all.add(watcher)
    if (account === undefined || !isEnforcer(account)) nonEnforcers.add(watcher)
    signal.addEventListener('abort', leave)
    try {
      if (!signal.aborted) yield* stream(watcher.signal)
      if (closed && !signal.aborted) throw stopping(errorId)
    } finally {
      signal.removeEventListener('abort', leave)
      releaseSlot()
      all.delete(watcher)
      nonEnforcers.delete(watcher)
    }
  }

  return {
    open(ctx, errorId, stream) {
      if (closed) throw stopping(errorId)
      const isNonEnforcer = ctx.account === undefined || !isEnforcer(ctx.account)
      if (all.size >= max || (isNonEnforcer && nonEnforcers.size >= maxNonEnforcers))
        throw tooManyRequests(errorId, `the limit of ${all.size} watchers is reached`)
      return run(new AbortController(), ctx, errorId, stream)
    },

    close() {
      closed = true
      for (const watcher of all) watcher.abort()
    },
  }
}

function stopping(errorId: string): Error {
  return unavailable(errorId, 'the auth service is stopping')
}
