import { suggest } from '../../lib/text/did-you-mean.ts'
import type { ServerCommand } from './setting.ts'
import { SETTINGS, type SettingInput, type Settings, type SettingsInput } from './settings.ts'
import {
  explainOtherSource,
  findInvalidValues,
  findSetting,
  keysOf,
  SettingsError,
  splitList,
} from './sources.ts'

/** Settings from the flags of a command line. */
interface ParsedFlags {
  readonly flags: SettingsInput
  /**
   * One-line problems: unknown flags, missing values, repeated single values, and arguments that
   * are not flags.
   */
  readonly problems: readonly string[]
}

/**
 * Runs {@link parseFlags} and rejects problems.
 *
 * @throws {SettingsError} with all problems, including invalid values. If there are only invalid
 * values, `mergeSettings` reports them.
 */
export function readFlags(words: readonly string[], command: ServerCommand = 'api'): SettingsInput {
  const { flags, problems } = parseFlags(words, command)
  if (problems.length > 0) throw new SettingsError([...problems, ...findInvalidValues(flags)])
  return flags
}

/**
 * Parses the settings of a command from flags: `--name value`, `--name=value`, and `--name` for
 * switches. In names, `-` and `_` are equivalent.
 *
 * The command line library is not used, because it converts values that look like numbers: a
 * namespace consisting of a single space would become 0.
 */
export function parseFlags(words: readonly string[], command: ServerCommand = 'api'): ParsedFlags {
  const inputs = new Map<keyof Settings, SettingInput>()
  const problems: string[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    const equals = word.indexOf('=')
    const flag = equals === -1 ? word : word.slice(0, equals)
    if (!/^--./.test(flag)) {
      problems.push(
        flag.startsWith('-')
          ? `unknown flag ${flag}. ${toHelp(command)}`
          : `unexpected argument ${JSON.stringify(word)}`,
      )
      continue
    }
    const key = findSetting(flag.slice(2))
    let value = equals === -1 ? undefined : word.slice(equals + 1)
    const elsewhere = key && explainOtherSource(key, command)
    if (key === undefined || elsewhere !== undefined) {
      const reason = elsewhere ? `: ${elsewhere}.` : hint(flag, command)
      problems.push(`unknown flag ${flag}${reason} ${toHelp(command)}`)
      // The next argument is most likely the flag's value, so reporting it as well would be
      // confusing.
      if (value === undefined && isValue(words[i + 1])) i++
      continue
    }
    const { kind, placeholder } = SETTINGS[key]
    if (value === undefined && kind === 'switch')
      value = isSwitchWord(words[i + 1]) ? words[++i]! : 'true'
    if (value === undefined && isValue(words[i + 1])) value = words[++i]!
    if (value === undefined || value === '') {
      problems.push(`${flag} needs a value: ${flag}=<${placeholder}>`)
    } else if (kind === 'list') {
      const values = SETTINGS[key].splitFlag === true ? splitList(key, value) : [value]
      inputs.set(key, { source: flag, values: [...(inputs.get(key)?.values ?? []), ...values] })
    } else if (inputs.has(key)) {
      problems.push(`${flag} must not be repeated`)
    } else {
      inputs.set(key, { source: flag, values: [value] })
    }
  }
  return { flags: inputs, problems }
}

function hint(flag: string, command: ServerCommand): string {
  const names = keysOf(command).map((key) => SETTINGS[key].name)
  const name = suggest(flag.slice(2).replaceAll('-', '_'), names)
  return name === undefined ? '.' : `, did you mean --${name}?`
}

function toHelp(command: ServerCommand): string {
  return `See 'mx ${command} --help'`
}

function isValue(word: string | undefined): word is string {
  return word !== undefined && !word.startsWith('-')
}

function isSwitchWord(word: string | undefined): boolean {
  return word === 'true' || word === 'false'
}
