import { keepRising, mergeMetrics } from './merge.ts'
import type { Metric } from './samples.ts'

/** What each worker process that runs tells, by its id; undefined: it did not in time. */
type Told = ReadonlyMap<number, readonly Metric[] | undefined>

/**
 * The metrics of several worker processes as those of one. One that does not answer counts with what it told last, one that has
 * ended with what it had counted by then: a sum that fell would look like a restart of all of them.
 *
 * @param ask what those say that run.
 */
export function createWorkerMetrics(ask: () => Promise<Told>): () => Promise<readonly Metric[]> {
  const last = new Map<number, readonly Metric[]>()
  let gone: readonly Metric[] = []
  return async () => {
    const told = await ask()
    for (const [id, metrics] of told) if (metrics !== undefined) last.set(id, metrics)
    for (const [id, metrics] of last) {
      if (told.has(id)) continue
      last.delete(id)
      gone = mergeMetrics([gone, keepRising(metrics)])
    }
    return mergeMetrics([...last.values(), gone])
  }
}
