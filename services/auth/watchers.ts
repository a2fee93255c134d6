import type { Context } from '../../sdk/context.ts'
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

/** @param max watchers at a time. */
export function createWatchers(max: number): Watchers {
  const all = new Set<AbortController>()
  let closed = false

  async function* run<T>(
    watcher: AbortController,
    { signal }: Context,
    errorId: string,
    tell: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncIterable<T> {
    const leave = (): void => watcher.abort()
    all.add(watcher)
    signal.addEventListener('abort', leave)
    try {
      if (!signal.aborted) yield* tell(watcher.signal)
      if (closed && !signal.aborted) throw stopping(errorId)
    } finally {
      signal.removeEventListener('abort', leave)
      all.delete(watcher)
    }
  }

  return {
    open(ctx, errorId, tell) {
      if (closed) throw stopping(errorId)
      if (all.size >= max) throw tooManyRequests(errorId, `there are ${max} watchers already`)
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
