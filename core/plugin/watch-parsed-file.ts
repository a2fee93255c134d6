import { readFileSync, statSync } from 'node:fs'
import type { PluginLog } from './define.ts'

export interface RereadOptions<T> {
  /** What the file says. Throws when that is wrong. */
  readonly parse: (text: string) => T
  /** Called with what it says after each edit, but not at first. */
  readonly onChange: (value: T) => void
  readonly log: PluginLog
}

/** How soon an edit counts. */
const CHECK_MS = 1000

/**
 * Reads a file, and again whenever it was edited. One that cannot be read then, or says something wrong, is told to the log, and
 * what it said before stays.
 *
 * @throws {Error} when it cannot be read, or says something wrong, at first.
 */
export function rereadFile<T>(
  file: string,
  { parse, onChange, log }: RereadOptions<T>,
): { readonly value: T; readonly close: () => void } {
  let version = readVersion(file)
  let told = ''
  const value = parse(readFileSync(file, 'utf8'))
  const timer = setInterval(() => {
    try {
      const now = readVersion(file)
      const text = now === version ? undefined : readFileSync(file, 'utf8')
      // What is wrong is not looked at again before the next edit; what cannot be read is.
      version = now
      if (text !== undefined) {
        onChange(parse(text))
        log.info({ file }, 'read again')
      }
      told = ''
    } catch (error) {
      const { message } = error as Error
      if (message !== told)
        log.error({ file, reason: message }, 'not read; what it said before stays')
      told = message
    }
  }, CHECK_MS).unref()
  return { value, close: () => clearInterval(timer) }
}

/** Changes whenever the file does, also when an editor or a mount replaces it. */
function readVersion(file: string): string {
  const { ino, mtimeMs, size } = statSync(file)
  return `${ino} ${mtimeMs} ${size}`
}
