import { CliError, EXIT } from '../ui/output.ts'

/** What stands before a command (reference 8.1), and from the command on. */
export interface SplitWords {
  /** `--name=value`: they hold for whatever command follows, which refuses those it does not know. */
  readonly globals: readonly string[]
  readonly rest: readonly string[]
}

const NAMES = ['env', 'namespace', 'output', 'profile', 'config']
const LETTERS: Readonly<Record<string, string>> = { o: 'output', c: 'config' }

/** @throws {CliError} for one without its value. */
export function splitGlobals(words: readonly string[]): SplitWords {
  const globals: string[] = []
  let at = 0
  for (; at < words.length; at++) {
    const [, dashes, typed = '', value] = /^(--?)(\w+)(?:=(.*))?$/s.exec(words[at]!) ?? []
    const name = dashes === '-' ? LETTERS[typed] : typed
    if (name === undefined || !NAMES.includes(name)) break
    const given = value ?? words[++at]
    if (given === undefined)
      throw new CliError(`--${name} needs a value. See 'mx --help'`, { status: EXIT.usage })
    globals.push(`--${name}=${given}`)
  }
  return { globals, rest: words.slice(at) }
}
