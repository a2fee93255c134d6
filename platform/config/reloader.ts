import type { Log } from '../process/log.ts'
import { SettingsError } from '../settings/sources.ts'

/**
 * Creates a function that runs `reload` and logs its errors. An invalid configuration is rejected:
 * each problem is logged with file and line, and the running configuration remains in use. Calls
 * during a reload cause exactly one further reload.
 */
export function createReloader(reload: () => Promise<void>, log: Log): () => Promise<void> {
  let running: Promise<void> | undefined
  let again = false
  const once = async (): Promise<void> => {
    try {
      await reload()
    } catch (error) {
      logRejection(error, log)
    }
  }
  const loop = async (): Promise<void> => {
    do {
      again = false
      await once()
    } while (again)
    running = undefined
  }
  return () => {
    if (running !== undefined) again = true
    running ??= loop()
    return running
  }
}

/** Logs the problems of a rejected configuration. */
export function logRejection(error: unknown, log: Log): void {
  if (!(error instanceof SettingsError))
    return log.error({ err: error }, 'reload failed; the previous configuration stays in use')
  for (const problem of error.problems)
    log.error(`configuration rejected: ${problem}; the previous configuration stays in use`)
}
