import { ADMIN } from '../../core/auth/policy/account-rights.ts'
import { SharedPlaces } from '../../core/limits/shared-places.ts'
import type { Account, Context } from '../../sdk/context.ts'
import { tooManyRequests, unavailable } from '../../sdk/errors.ts'

/** Those who watch. */
export interface Watchers {
  /**
   * Tells a caller what `tell` does, until the caller leaves or the service is stopped.
   *
   * @throws {GatewayError} 429 when there are too many, 503 when the service is being stopped.
   */
  readonly open: <T>(
    ctx: Context,
    errorId: string,
    tell: (signal: AbortSignal) => AsyncIterable<T>,
  ) => AsyncIterable<T>
  /** Ends all streams, with an error 503, and takes no more watchers. */
  readonly close: () => void
}

/** Whether an account enforces rules, or administers them: a service, or an administrator. */
export function isEnforcer({ type, scopes }: Account): boolean {
  return type === 'service' || scopes.includes(ADMIN)
}

/** @param max watchers at a time; nine tenths are for those that enforce rules: nobody else keeps them from it. */
export function createWatchers(max: number): Watchers {
  const maxOthers = Math.ceil(max / 10)
  const places = new SharedPlaces(max, 'watchers')
  const all = new Set<AbortController>()
  const others = new Set<AbortController>()
  let closed = false

  async function* run<T>(
    watcher: AbortController,
    { signal, account }: Context,
    errorId: string,
    tell: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncIterable<T> {
    const leavePlace = places.enter(account?.issuer ?? '', errorId)
    const leave = (): void => watcher.abort()
    all.add(watcher)
    if (account === undefined || !isEnforcer(account)) others.add(watcher)
    signal.addEventListener('abort', leave)
    try {
      if (!signal.aborted) yield* tell(watcher.signal)
      if (closed && !signal.aborted) throw stopping(errorId)
    } finally {
      signal.removeEventListener('abort', leave)
      leavePlace()
      all.delete(watcher)
      others.delete(watcher)
    }
  }

  return {
    open(ctx, errorId, tell) {
      if (closed) throw stopping(errorId)
      const isOther = ctx.account === undefined || !isEnforcer(ctx.account)
      if (all.size >= max || (isOther && others.size >= maxOthers))
        throw tooManyRequests(errorId, `there are ${all.size} watchers already`)
      return run(new AbortController(), ctx, errorId, tell)
    },

    close() {
      closed = true
      for (const watcher of all) watcher.abort()
    },
  }
}

function stopping(errorId: string): Error {
  return unavailable(errorId, 'the service auth is being closed')
}
