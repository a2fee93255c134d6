import { keepCumulative, mergeMetrics } from './merge.ts'
import type { Metric } from './samples.ts'

/** Metrics of the running workers by id; undefined after a timeout. */
type WorkerResults = ReadonlyMap<number, readonly Metric[] | undefined>

/**
 * Merges the metrics of worker processes. A worker that does not respond contributes its last
 * values. An ended worker contributes its last counters, because a decreasing sum would look like a
 * restart of all workers.
 *
 * @param query reads the metrics of the running workers.
 */
export function createWorkerMetrics(
  query: () => Promise<WorkerResults>,
): () => Promise<readonly Metric[]> {
  const last = new Map<number, readonly Metric[]>()
  let ended: readonly Metric[] = []
  return async () => {
    const results = await query()
    for (const [id, metrics] of results) if (metrics !== undefined) last.set(id, metrics)
    for (const [id, metrics] of last) {
      if (results.has(id)) continue
      last.delete(id)
      ended = mergeMetrics([ended, keepCumulative(metrics)])
    }
    return mergeMetrics([...last.values(), ended])
  }
}
