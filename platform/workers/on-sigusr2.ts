import type { Log } from '../process/log.ts'

const HINT = 'a gateway started with mx api and --hot_restart, or several --workers, can'

/**
 * Obeys SIGUSR2: what serves is replaced. One that comes meanwhile leads to one more replacement afterwards.
 *
 * @param replace undefined: there is nothing to replace, which the log tells; the system would end the process.
 */
export function restartOnSigusr2(replace: (() => Promise<void>) | undefined, log: Log): void {
  let asked = 0
  const loop = async (replaceAll: () => Promise<void>): Promise<void> => {
    for (let done = 0; done < asked; ) {
      done = asked
      try {
        await replaceAll()
        log.info('new processes serve; the old ones finish their requests')
      } catch (error) {
        // Why processes do not come up, they say themselves.
        const { name, message } = error as Error
        const why = name === 'WorkerStartError' ? { reason: message } : { err: error }
        log.error(why, 'restart failed; the old processes keep serving')
      }
    }
    asked = 0
  }
  process.on('SIGUSR2', () => {
    if (replace === undefined) {
      log.warn(`SIGUSR2: what runs here cannot be replaced while it serves; ${HINT}`)
      return
    }
    log.info('SIGUSR2: starting new processes')
    asked++
    if (asked === 1) void loop(replace)
  })
}
