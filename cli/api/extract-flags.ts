import { SETTINGS } from '../../platform/settings/settings.ts'
import { findSetting } from '../../platform/settings/sources.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** Flags of a command among those of the gateway, whose settings are read from what is left. */
export interface ExtractedFlags<N extends string> {
  readonly taken: { readonly [K in N]?: readonly string[] }
  readonly rest: readonly string[]
}

/**
 * Takes the flags that are named out of words.
 *
 * @param names by the flag, dashes included: the name it is taken as.
 * @throws {CliError} for one without a value.
 */
export function extractFlags<N extends string>(
  words: readonly string[],
  names: Readonly<Record<string, N>>,
): ExtractedFlags<N> {
  const taken: { [K in N]?: string[] } = {}
  const rest: string[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    const equals = word.startsWith('--') ? word.indexOf('=') : -1
    const flag = equals === -1 ? word : word.slice(0, equals)
    const name = Object.hasOwn(names, flag) ? names[flag] : undefined
    if (name === undefined) {
      rest.push(word)
      continue
    }
    const value = equals === -1 ? words[++i] : word.slice(equals + 1)
    if (value === undefined)
      throw new CliError(`${flag} needs a value. See 'mx api --help'`, { status: EXIT.usage })
    const values: string[] = taken[name] ?? []
    values.push(value)
    taken[name] = values
  }
  return { taken, rest }
}

/** Words of a command line without the flags and their values, which may stand anywhere. */
export interface SeparatedLine {
  readonly words: readonly string[]
  readonly flags: readonly string[]
}

export function separateFlags(line: readonly string[]): SeparatedLine {
  const words: string[] = []
  const flags: string[] = []
  for (let i = 0; i < line.length; i++) {
    const word = line[i]!
    ;(word.startsWith('-') ? flags : words).push(word)
    if (takesNext(word, line[i + 1])) flags.push(line[++i]!)
  }
  return { words, flags }
}

function takesNext(flag: string, next: string | undefined): boolean {
  if (next === undefined || !flag.startsWith('-') || flag.includes('=')) return false
  if (!flag.startsWith('--')) return true
  const key = findSetting(flag.slice(2))
  const isSwitch = flag === '--server' || (key !== undefined && SETTINGS[key].kind === 'switch')
  return isSwitch ? next === 'true' || next === 'false' : !next.startsWith('-')
}
