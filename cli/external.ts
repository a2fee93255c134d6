import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, statSync } from 'node:fs'
import { constants as os } from 'node:os'
import { delimiter, join } from 'node:path'
import { CliError } from './ui/output.ts'

const NAME = /^\w[\w.-]*$/
/** Signals forwarded to the program. */
const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** Base of exit statuses for signals: shells report a program ended by signal n with status 128 + n. */
const SIGNAL_STATUS = 128

/** Finds the program `mx-<word>` on `PATH` (reference 8.2). */
export function findExternal(word: string): string | undefined {
  if (!NAME.test(word)) return undefined
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, `mx-${word}`))
    .find(isProgram)
}

/**
 * Runs a program in the terminal of this process.
 *
 * @param globals flags before the command, passed in the variables `MX_ENV` and `MX_NAMESPACE`
 * @returns the exit status of the program
 */
export async function runExternal(
  path: string,
  words: readonly string[],
  globals: readonly string[],
): Promise<number> {
  // The terminal sends SIGINT to the program as well.
  const forward = (signal: NodeJS.Signals): void => {
    if (signal !== 'SIGINT') child.kill(signal)
  }
  for (const signal of SIGNALS) process.on(signal, forward)
  const child = spawn(path, words, {
    stdio: 'inherit',
    env: { ...process.env, ...toVariables(globals) },
  })
  try {
    const [status, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return status ?? SIGNAL_STATUS + os.signals[signal!]
  } catch (cause) {
    throw new CliError(`cannot run ${path}: ${(cause as Error).message}`, { cause })
  } finally {
    for (const signal of SIGNALS) process.off(signal, forward)
  }
}

function toVariables(globals: readonly string[]): Record<string, string> {
  const variables: Record<string, string> = {}
  for (const flag of globals) {
    const [, name, value] = /^--(env|namespace)=(.*)$/s.exec(flag) ?? []
    if (name !== undefined) variables[`MX_${name.toUpperCase()}`] = value!
  }
  return variables
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
