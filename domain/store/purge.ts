import type { StoreAdapter, StorePlace } from '../../core/contracts/store.ts'

export interface PurgeOptions {
  /** Interval between runs in milliseconds. */
  readonly everyMs: number
  readonly nowMs: () => number
  readonly onPurged: (places: readonly StorePlace[]) => void
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
  let isOver = false
  let running: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout

  const look = async (): Promise<void> => {
    let isMore = false
    try {
      const places = await purge(nowMs(), BATCH)
      isFailing = false
      isMore = places.length === BATCH
      if (places.length > 0) onPurged(places)
    } catch (error) {
      if (!isFailing) onError(error)
      isFailing = true
    }
    if (!isOver) schedule(isMore ? 0 : everyMs)
  }

  function schedule(afterMs: number): void {
    timer = setTimeout(() => {
      running = look()
    }, afterMs)
    timer.unref()
  }

  schedule(everyMs)
  return () => {
    isOver = true
    clearTimeout(timer)
    return running
  }
}
