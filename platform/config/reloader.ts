import type { Log } from '../process/log.ts'
import { SettingsError } from '../settings/sources.ts'
import type { LoadConfiguration } from './load.ts'
import type { Configuration } from './types.ts'

/**
 * Makes the function that reads the configuration again and hands it on. What does not validate is
 * refused, each problem with file and line in the log, and the running configuration goes on serving.
 * Calls while one is under way lead to one more afterwards.
 */
export function createReloader(
  load: LoadConfiguration,
  apply: (next: Configuration) => Promise<void> | void,
  log: Log,
): () => Promise<void> {
  let running: Promise<void> | undefined
  let again = false
  const once = async (): Promise<void> => {
    try {
      await apply(await load())
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

/** Tells why a configuration is not taken. */
export function logRejection(error: unknown, log: Log): void {
  if (!(error instanceof SettingsError))
    return log.error({ err: error }, 'reload failed; the previous configuration keeps serving')
  for (const problem of error.problems)
    log.error(`configuration refused: ${problem}; the previous one keeps serving`)
}
