import { suggest } from '../../lib/text/did-you-mean.ts'
import { type Command, SETTINGS, type Settings } from './settings.ts'
import {
  explainElsewhere,
  findSetting,
  findWrongValues,
  keysOf,
  type SettingInput,
  SettingsError,
  type SettingsInput,
  splitList,
} from './sources.ts'

/** What flags say. */
interface ParsedFlags {
  readonly given: SettingsInput
  /** Unknown flags, missing values, single values given twice, and words that are no flags; a line each. */
  readonly problems: readonly string[]
}

/**
 * {@link parseFlags} of words that must all be right.
 *
 * @throws {SettingsError} naming every problem, and values that are wrong; those alone are left to whoever merges them.
 */
export function readFlags(words: readonly string[], command: Command = 'api'): SettingsInput {
  const { given, problems } = parseFlags(words, command)
  if (problems.length > 0) throw new SettingsError([...problems, ...findWrongValues(given)])
  return given
}

/**
 * Settings of a command from flags: `--name value`, `--name=value`, `--name` for switches; `-` and `_` are the same in names.
 *
 * Reads the words itself: the command line library turns values that look like
 * numbers into numbers, so a namespace of one blank would arrive as 0.
 */
export function parseFlags(words: readonly string[], command: Command = 'api'): ParsedFlags {
  const given = new Map<keyof Settings, SettingInput>()
  const problems: string[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    const equals = word.indexOf('=')
    const flag = equals === -1 ? word : word.slice(0, equals)
    if (!/^--./.test(flag)) {
      problems.push(
        flag.startsWith('-')
          ? `unknown flag ${flag}`
          : `unexpected argument ${JSON.stringify(word)}`,
      )
      continue
    }
    const key = findSetting(flag.slice(2))
    let value = equals === -1 ? undefined : word.slice(equals + 1)
    const elsewhere = key && explainElsewhere(key, command)
    if (key === undefined || elsewhere !== undefined) {
      problems.push(`unknown flag ${flag}${elsewhere ? `: ${elsewhere}` : hint(flag, command)}`)
      // What follows is most likely its value: naming it too would only confuse.
      if (value === undefined && isValue(words[i + 1])) i++
      continue
    }
    const { kind, form } = SETTINGS[key]
    if (value === undefined && kind === 'switch')
      value = isSwitchWord(words[i + 1]) ? words[++i]! : 'true'
    if (value === undefined && isValue(words[i + 1])) value = words[++i]!
    if (value === undefined || value === '') {
      problems.push(`${flag} needs a value: ${flag}=<${form}>`)
    } else if (kind === 'list') {
      const values = SETTINGS[key].splitFlag === true ? splitList(key, value) : [value]
      given.set(key, { source: flag, values: [...(given.get(key)?.values ?? []), ...values] })
    } else if (given.has(key)) {
      problems.push(`${flag} may be given once only`)
    } else {
      given.set(key, { source: flag, values: [value] })
    }
  }
  return { given, problems }
}

function hint(flag: string, command: Command): string {
  const names = keysOf(command).map((key) => SETTINGS[key].name)
  const meant = suggest(flag.slice(2).replaceAll('-', '_'), names)
  return meant === undefined ? '' : `, did you mean --${meant}?`
}

function isValue(word: string | undefined): word is string {
  return word !== undefined && !word.startsWith('-')
}

function isSwitchWord(word: string | undefined): boolean {
  return word === 'true' || word === 'false'
}
