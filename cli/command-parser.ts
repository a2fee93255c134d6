import { type CAC, cac } from 'cac'
import type { Setting } from '../platform/settings/setting.ts'
import { parseFlag } from './args/args.ts'
import { toPhrase } from './args/subcommands.ts'
import type { Command } from './command.ts'
import { formatColumns } from './ui/output.ts'

const SETTINGS_NOTE =
  'Every flag can also be set as an environment variable (MX_ plus its name in capitals), and most in mx.yaml.'
/** Subcommands at the start of a flag description, such as `create rule, test: `. */
const SUBCOMMANDS = /^[a-z]+(?: [a-z]+)*(?:, [a-z]+(?: [a-z]+)*)*(?=: )/

const HELP = 'Show this help'

interface Section {
  title?: string
  body: string
}

/** Creates the parser that prints the help of a command, or of the subcommand named in its arguments. */
export async function createParser(command: Command, args: readonly string[]): Promise<CAC> {
  const { name, settings } = command
  const { description, usages, flags, examples, phrases } = narrow(command, args)
  const areas = await listAreas(settings)
  const hasFlags = settings !== undefined || Object.keys(flags).length > 0
  const cli = cac('mx')
  const parsed = cli.command(`${name} [...words]`, description).allowUnknownOptions()
  for (const example of examples) parsed.example(`  ${example}`)
  for (const [flag, text] of Object.entries(flags)) {
    const { isRepeatable } = parseFlag(flag)
    parsed.option(flag.replace(/\.{3}$/, ''), isRepeatable ? `${text}; repeatable` : text)
  }
  // The library hides an option named `version`, which it reserves.
  for (const option of parsed.options) if (option.name === 'version') option.name = 'its version'
  const lines = usages.map((usage) => {
    const parts = ['  $ mx', name, usage, hasFlags ? '[flags]' : '']
    return parts.filter((part) => part !== '').join(' ')
  })
  // Omits the library's heading with the program name.
  return cli.help(([, ...sections]) => [
    { body: description },
    ...sections.flatMap((section): Section[] => {
      if (section.title === 'Usage') return [{ title: 'Usage', body: lines.join('\n') }]
      if (section.title !== 'Options') return [section]
      if (settings === undefined) return [{ title: 'Flags', body: toHelpText(section.body) }]
      if (phrases.length > 0) {
        const helpHint = `Flags of mx ${name}: see 'mx ${name} --help'`
        return [{ title: 'Flags', body: `${toHelpText(section.body)}\n\n${helpHint}` }]
      }
      return [
        ...areas,
        {
          title: 'Other flags',
          body: `${formatColumns([['-h, --help', HELP]])}\n\n${SETTINGS_NOTE}`,
        },
      ]
    }),
  ])
}

/** Replaces the library's text for `--help` and removes trailing blanks. */
function toHelpText(body: string): string {
  return body.replace('Display this message', HELP).replaceAll(/ +$/gm, '')
}

/** Help of the subcommands that start with the words of `args`; without such words, help of the command. */
function narrow(command: Command, args: readonly string[]) {
  const { name, forms, summaries } = command
  const words = args.filter((arg) => !arg.startsWith('-'))
  const toStart = (form: string, count: number): string =>
    toPhrase(form).split(' ').slice(0, count).join(' ')
  let named: readonly string[] = []
  let start = ''
  for (let count = 1; count <= words.length; count++) {
    const next = words.slice(0, count).join(' ')
    const matches = forms.filter((form) => toStart(form, count) === next)
    if (matches.length === 0) break
    named = matches
    start = next
  }
  if (named.length === 0) {
    // The first usage line has no subcommand.
    const isOptional = command.settings !== undefined || forms.includes('')
    const some = forms.filter((form) => form !== '')
    const usages = some.length === 0 ? [command.usage] : [...(isOptional ? [''] : []), ...some]
    return { ...command, usages, phrases: [] }
  }
  const phrases = named.map(toPhrase)
  const flags = Object.entries(command.flags).flatMap(([flag, text]): [string, string][] => {
    const applicable = SUBCOMMANDS.exec(text)?.[0].split(', ')
    if (
      applicable === undefined ||
      !applicable.every((phrase) => forms.some((form) => toPhrase(form) === phrase))
    )
      return [[flag, text]]
    if (!applicable.some((phrase) => phrases.includes(phrase))) return []
    return [[flag, phrases.length > 1 ? text : capitalize(text.replace(SUBCOMMANDS, '').slice(2))]]
  })
  return {
    description: summaries[start] ?? command.description,
    usages: named,
    flags: Object.fromEntries(flags),
    examples: command.examples.filter((example) => example.includes(`mx ${name} ${start}`)),
    phrases,
  }
}

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** Settings of a command by area, as sections of the help. */
async function listAreas(command: Command['settings']): Promise<readonly Section[]> {
  if (command === undefined) return []
  const [{ listSettings }, { SETTING_AREAS }] = await Promise.all([
    import('../platform/settings/command.ts'),
    import('../platform/settings/settings.ts'),
  ])
  const settings = listSettings(command)
  return Object.entries(SETTING_AREAS).flatMap(([area, table]) => {
    const names = new Set(Object.values(table).map((setting) => setting.name))
    const rows = settings.filter((setting) => names.has(setting.name)).map(toRow)
    return rows.length === 0 ? [] : [{ title: `${area} flags`, body: formatColumns(rows) }]
  })
}

function toRow({
  name,
  placeholder,
  kind,
  description,
  ...setting
}: Setting<unknown>): readonly [string, string] {
  const column = kind === 'switch' ? `--${name}` : `--${name} <${placeholder}>`
  const isUnset = setting.default.trim() === ''
  const standard = isUnset ? setting.unset : setting.default
  const repeat = kind === 'list' ? '; repeatable' : ''
  return [
    column,
    `${description}${repeat}${standard === undefined ? '' : ` (default: ${standard})`}`,
  ]
}
