import { CliError, EXIT } from '../ui/output.ts'

/** A command line, split at the command (reference 8.1). */
export interface SplitWords {
  /** Flags as `--name=value`. The command rejects unknown names. */
  readonly globals: readonly string[]
  readonly rest: readonly string[]
}

const NAMES = ['env', 'namespace', 'output', 'profile', 'config']
const LETTERS: Readonly<Record<string, string>> = { o: 'output', c: 'config' }

/** @throws {CliError} for a flag without its value */
export function splitGlobals(words: readonly string[]): SplitWords {
  const globals: string[] = []
  let at = 0
  for (; at < words.length; at++) {
    const [, dashes, typed = '', value] = /^(--?)(\w+)(?:=(.*))?$/s.exec(words[at]!) ?? []
    const name = dashes === '-' ? LETTERS[typed] : typed.replace(/^target$/, 'env')
    if (name === undefined || !NAMES.includes(name)) break
    const text = value ?? words[++at]
    if (text === undefined)
      throw new CliError(`--${name} needs a value. See 'mx --help'`, { status: EXIT.usage })
    globals.push(`--${name}=${text}`)
  }
  return { globals, rest: words.slice(at) }
}
