import type { Workers } from '../workers/workers.ts'

/** Whoever asks waits no longer: an orchestrator gives up after a second, and takes that for a no. */
const READY_MS = 500

/**
 * What processes that share a port lack to serve, a line each: nothing as soon as one of them says that it lacks nothing, whatever
 * becomes of the others. Those who ask at one time get one answer.
 */
export function createWorkerReadiness(ask: Workers['ask']): () => Promise<readonly string[]> {
  let running: Promise<readonly string[]> | undefined

  async function read(): Promise<readonly string[]> {
    const told = await ask<readonly string[]>('problems', {
      timeoutMs: READY_MS,
      isEnough: (problems) => problems.length === 0,
    })
    if (told.size === 0) return ['no worker process serves']
    const answers = [...told.values()].filter((problems) => problems !== undefined)
    if (answers.length === 0) return [`no worker process has answered within ${READY_MS} ms`]
    return answers.some((problems) => problems.length === 0) ? [] : [...new Set(answers.flat())]
  }

  return () => {
    running ??= read().finally(() => {
      running = undefined
    })
    return running
  }
}
