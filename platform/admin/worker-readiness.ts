import type { Workers } from '../workers/workers.ts'

/** Timeout shorter than the timeout of orchestrators: a Kubernetes probe fails after one second. */
const READY_MS = 500

/**
 * Readiness of processes that share a port, which are ready as soon as one of them is. Returns the
 * reasons why none is ready. Concurrent checks share one result.
 */
export function createWorkerReadiness(query: Workers['query']): () => Promise<readonly string[]> {
  let running: Promise<readonly string[]> | undefined

  async function read(): Promise<readonly string[]> {
    const results = await query<readonly string[]>('problems', {
      timeoutMs: READY_MS,
      isFinal: (problems) => problems.length === 0,
    })
    if (results.size === 0) return ['no worker is running']
    const received = [...results.values()].filter((problems) => problems !== undefined)
    if (received.length === 0) return [`no worker responded within ${READY_MS} ms`]
    return received.some((problems) => problems.length === 0) ? [] : [...new Set(received.flat())]
  }

  return () => {
    running ??= read().finally(() => {
      running = undefined
    })
    return running
  }
}
