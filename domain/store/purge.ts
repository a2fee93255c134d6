import type { StoreAdapter, StoreKey } from '../../core/contracts/store.ts'

export interface PurgeOptions {
  /** Interval between runs in milliseconds. */
  readonly everyMs: number
  readonly nowMs: () => number
  readonly onPurged: (keys: readonly StoreKey[]) => void
  /** Called for the first failure in a series. */
  readonly onError: (error: unknown) => void
}

/** Maximum number of records deleted per batch. */
const BATCH = 1000

/**
 * Deletes expired records in the background.
 *
 * @returns a function that stops after the current run.
 */
export function startPurge(
  adapter: StoreAdapter,
  { everyMs, nowMs, onPurged, onError }: PurgeOptions,
): () => Promise<void> {
  const { purge } = adapter
  if (purge === undefined) return () => Promise.resolve()
  let isFailing = false
  let isStopped = false
  let running: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout

  const purgeBatch = async (): Promise<void> => {
    let isMore = false
    try {
      const keys = await purge(nowMs(), BATCH)
      isFailing = false
      isMore = keys.length === BATCH
      if (keys.length > 0) onPurged(keys)
    } catch (error) {
      if (!isFailing) onError(error)
      isFailing = true
    }
    if (!isStopped) schedule(isMore ? 0 : everyMs)
  }

  function schedule(afterMs: number): void {
    timer = setTimeout(() => {
      running = purgeBatch()
    }, afterMs)
    timer.unref()
  }

  schedule(everyMs)
  return () => {
    isStopped = true
    clearTimeout(timer)
    return running
  }
}
