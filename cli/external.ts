import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, statSync } from 'node:fs'
import { constants as os } from 'node:os'
import { delimiter, join } from 'node:path'
import { CliError } from './ui/output.ts'

const NAME = /^\w[\w.-]*$/
/** Whose end is that of the program we stand for. */
const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** What shells add to a signal's number for a status. */
const SIGNALLED = 128

/** The program `mx-<word>` of `PATH` (reference 8.2); undefined: there is none. */
export function findExternal(word: string): string | undefined {
  if (!NAME.test(word)) return undefined
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, `mx-${word}`))
    .find(isProgram)
}

/**
 * Runs a program in our place, with our terminal.
 *
 * @param globals flags that stood before the command, which it finds in `MX_ENV` and `MX_NAMESPACE`.
 * @returns its exit status.
 */
export async function runExternal(
  path: string,
  words: readonly string[],
  globals: readonly string[],
): Promise<number> {
  // A terminal sends it Ctrl-C itself; whoever ends us means it, from the moment it runs.
  const pass = (signal: NodeJS.Signals): void => {
    if (signal !== 'SIGINT') child.kill(signal)
  }
  for (const signal of SIGNALS) process.on(signal, pass)
  const child = spawn(path, words, {
    stdio: 'inherit',
    env: { ...process.env, ...toVariables(globals) },
  })
  try {
    const [status, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return status ?? SIGNALLED + os.signals[signal!]
  } catch (cause) {
    throw new CliError(`${path} cannot be run: ${(cause as Error).message}`, { cause })
  } finally {
    for (const signal of SIGNALS) process.off(signal, pass)
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
