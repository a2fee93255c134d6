import type { Log } from '../process/log.ts'

const HINT = 'start mx api with --hot_restart or several --workers'

/**
 * Handles SIGUSR2: restarts all workers without downtime. Signals during a restart cause one
 * further restart.
 *
 * @param replace undefined if hot restarts are not supported. The signal is then logged instead of
 * ending the process.
 */
export function restartOnSigusr2(replace: (() => Promise<void>) | undefined, log: Log): void {
  let requested = 0
  const loop = async (replaceAll: () => Promise<void>): Promise<void> => {
    for (let completed = 0; completed < requested; ) {
      completed = requested
      try {
        await replaceAll()
        log.info('new workers are serving; old workers finish their requests')
      } catch (error) {
        // The workers log why they failed to start.
        const { name, message } = error as Error
        const details = name === 'WorkerStartError' ? { reason: message } : { err: error }
        log.error(details, 'hot restart failed; the old workers remain in service')
      }
    }
    requested = 0
  }
  process.on('SIGUSR2', () => {
    if (replace === undefined) {
      log.warn(`SIGUSR2: hot restart not available; ${HINT}`)
      return
    }
    log.info('SIGUSR2: starting new workers')
    requested++
    if (requested === 1) void loop(replace)
  })
}
