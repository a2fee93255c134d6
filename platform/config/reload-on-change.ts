import type { Log } from '../process/log.ts'
import { type WatchedFiles, watchFiles } from '../process/watch-files.ts'
import type { Configuration } from './types.ts'

/** Reloads the configuration when its files change. */
export interface Reloading extends Pick<WatchedFiles, 'accept'> {
  readonly reload: () => void
  readonly close: () => void
}

/** Returns the configuration file and the files that it refers to, updated on each reload. */
export function listFiles({ file, config }: Configuration): readonly string[] {
  return [...(file === undefined ? [] : [file]), ...config.references.files]
}

/** Reloads when one of `files` changes. The list is refreshed after each reload. */
export function reloadOnChange(
  reload: () => Promise<void>,
  files: () => readonly string[],
  log: Log,
): Reloading {
  const onError = (folder: string, error: Error): void =>
    log.warn({ folder, err: error }, 'cannot watch folder for changes; send SIGHUP to reload')
  const now = (): void => {
    reload().then(
      () => watched.set(files()),
      (error) => log.error({ err: error }, 'reload failed'),
    )
  }
  const watched = watchFiles(now, onError)
  watched.set(files())
  return { reload: now, accept: watched.accept, close: watched.close }
}
