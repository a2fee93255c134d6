import { readFileSync, statSync } from 'node:fs'
import type { PluginLog } from './define.ts'

export interface WatchParsedFileOptions<T> {
  /** Throws if the content is malformed. */
  readonly parse: (text: string) => T
  /** Called after each change, but not initially. */
  readonly onChange: (value: T) => void
  readonly log: PluginLog
}

const CHECK_MS = 1000

/**
 * Reads and parses a file, and reloads it after every change. Reload errors are logged, and the previous value
 * stays in use.
 *
 * @throws {Error} if it cannot be read or parsed initially.
 */
export function watchParsedFile<T>(
  file: string,
  { parse, onChange, log }: WatchParsedFileOptions<T>,
): { readonly value: T; readonly close: () => void } {
  let version = readVersion(file)
  let lastLogged = ''
  const value = parse(readFileSync(file, 'utf8'))
  const timer = setInterval(() => {
    try {
      const now = readVersion(file)
      const text = now === version ? undefined : readFileSync(file, 'utf8')
      // A malformed file is only reloaded after the next change; an unreadable file is retried.
      version = now
      if (text !== undefined) {
        onChange(parse(text))
        log.info({ file }, 'file reloaded')
      }
      lastLogged = ''
    } catch (error) {
      const { message } = error as Error
      if (message !== lastLogged)
        log.error({ file, reason: message }, 'file not reloaded; the previous content stays in use')
      lastLogged = message
    }
  }, CHECK_MS).unref()
  return { value, close: () => clearInterval(timer) }
}

/** Returns a version that changes with the file, even if an editor or a mount replaces it. */
function readVersion(file: string): string {
  const { ino, mtimeMs, size } = statSync(file)
  return `${ino} ${mtimeMs} ${size}`
}
