import { SETTINGS } from '../../platform/settings/settings.ts'
import { findSetting } from '../../platform/settings/sources.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** Flags of a command, separated from the settings of the gateway in {@link rest}. */
export interface ExtractedFlags<N extends string> {
  readonly values: { readonly [K in N]?: readonly string[] }
  readonly rest: readonly string[]
}

/**
 * Extracts flags from a command line.
 *
 * @param names result name by flag, including its dashes
 * @throws {CliError} for a flag without a value
 */
export function extractFlags<N extends string>(
  words: readonly string[],
  names: Readonly<Record<string, N>>,
): ExtractedFlags<N> {
  const extracted: { [K in N]?: string[] } = {}
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
    const values: string[] = extracted[name] ?? []
    values.push(value)
    extracted[name] = values
  }
  return { values: extracted, rest }
}

/** Arguments of a command line without flags and flag values. */
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
    if (hasValue(word, line[i + 1])) flags.push(line[++i]!)
  }
  return { words, flags }
}

function hasValue(flag: string, next: string | undefined): boolean {
  if (next === undefined || !flag.startsWith('-') || flag.includes('=')) return false
  if (!flag.startsWith('--')) return true
  const key = findSetting(flag.slice(2))
  const isSwitch = flag === '--server' || (key !== undefined && SETTINGS[key].kind === 'switch')
  return isSwitch ? next === 'true' || next === 'false' : !next.startsWith('-')
}
