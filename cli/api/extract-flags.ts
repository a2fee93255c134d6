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
