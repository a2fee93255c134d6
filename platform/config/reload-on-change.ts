import type { Log } from '../process/log.ts'
import { watchFiles } from './watch-files.ts'

/** A configuration that is read again when its files change. */
export interface Reloading {
  /** Reads it again now. */
  readonly reload: () => void
  readonly close: () => void
}

/** Reloads when one of `files` changed; which they are is asked again after every reload. */
export function reloadOnChange(
  reload: () => Promise<void>,
  files: () => readonly string[],
  log: Log,
): Reloading {
  const onError = (folder: string, error: Error): void =>
    log.warn({ folder, err: error }, 'changes in this folder go unnoticed; SIGHUP reads it again')
  const now = (): void => {
    reload().then(
      () => watched.set(files()),
      (error) => log.error({ err: error }, 'reload failed'),
    )
  }
  const watched = watchFiles(now, onError)
  watched.set(files())
  return { reload: now, close: watched.close }
}
