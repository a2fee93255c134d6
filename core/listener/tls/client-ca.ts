import { watch } from 'node:fs'
import { dirname } from 'node:path'
import { createChangedCheck } from '../../../lib/io/file-fingerprint.ts'
import { readAuthorities } from './read-authorities.ts'

/** Authorities of client certificates, which can be replaced while a listener is running. */
export interface ClientCa {
  /** PEM text of the authorities. */
  readonly pem: string
  /** Whether clients without a certificate are accepted. Invalid certificates are always rejected. */
  readonly isOptional: boolean
  /** Reloads the file for new connections. @throws {Error} see {@link loadClientCa}; nothing has changed then. */
  readonly reload: () => void
  /** Calls `listener` after every change. Returns a function that unsubscribes it. */
  readonly onChange: (listener: () => void) => () => void
  /** Stops watching. */
  readonly close: () => void
}

export interface ClientCaOptions {
  /** @default false */
  readonly isOptional?: boolean
  /** Called with a one-line message if a changed file cannot be loaded. @default process.emitWarning */
  readonly warn?: (message: string) => void
  /** Debounce of file changes in milliseconds. @default 200 */
  readonly settleMs?: number
  /** PEM text of the authorities to use if the file cannot be loaded initially; empty if none. @default '' */
  readonly last?: string | undefined
}

const FILE_KIND = 'TLS client CA file'

/**
 * Loads authorities from a file, and reloads them when the file changes.
 *
 * @throws {Error} with a one-line message that contains the file name, if it cannot be read or contains no certificate.
 */
export function loadClientCa(file: string, options: ClientCaOptions = {}): ClientCa {
  const { isOptional = false, settleMs = 200, last = '' } = options
  const { warn = (message: string) => process.emitWarning(message) } = options
  const listeners = new Set<() => void>()
  let pem = last
  let timer: NodeJS.Timeout | undefined

  const warnOf = (error: unknown): void =>
    warn(`${(error as Error).message}; the previous authorities stay in use`)
  const reload = (): void => {
    const fresh = readAuthorities(file, FILE_KIND)
    if (fresh === pem) return
    pem = fresh
    for (const listener of listeners) listener()
  }
  const settle = (): void => {
    try {
      reload()
    } catch (error) {
      warnOf(error)
    }
  }
  try {
    pem = readAuthorities(file, FILE_KIND)
  } catch (error) {
    if (last === '') throw error
    warnOf(error)
  }
  const hasChanged = createChangedCheck()
  // Watches the folder, because the watch of a file ends when a rename replaces the file.
  const watcher = watch(dirname(file), { persistent: false }, () => {
    if (!hasChanged([file])) return
    clearTimeout(timer)
    timer = setTimeout(settle, settleMs).unref()
  })
  watcher.on('error', (error) => warn(`TLS file ${file} is no longer watched: ${error.message}`))

  return {
    get pem() {
      return pem
    },
    isOptional,
    reload,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close() {
      clearTimeout(timer)
      watcher.close()
    },
  }
}
