import { type CAC, cac } from 'cac'
import type { Setting } from '../platform/settings/setting.ts'
import { parseFlag } from './args/args.ts'
import type { Command } from './command.ts'
import { formatColumns } from './ui/output.ts'

const SETTINGS_NOTE =
  'Every flag is also an environment variable (MX_ and its name in capitals), and most are keys of mx.yaml.'

/** Creates the parser that prints the help of a command. */
export async function createParser(command: Command): Promise<CAC> {
  const { name, description, usage, flags, examples, settings } = command
  const hasFlags = settings !== undefined || Object.keys(flags).length > 0
  const parts = [name, usage, hasFlags ? '[flags]' : '']
  const cli = cac('mx')
  const parsed = cli
    .command(`${name} [...words]`, description)
    .usage(parts.filter((part) => part !== '').join(' '))
    .allowUnknownOptions()
  for (const example of examples) parsed.example(`  ${example}`)
  for (const [flag, text] of Object.entries(flags)) {
    const { isRepeatable } = parseFlag(flag)
    parsed.option(flag.replace(/\.{3}$/, ''), isRepeatable ? `${text}; repeatable` : text)
  }
  const rows = await listSettingRows(settings)
  // The library hides an option named `version` as its own.
  for (const option of parsed.options) if (option.name === 'version') option.name = 'its version'
  return cli.help(([title, ...sections]) => [
    ...[title!, { body: description }],
    ...sections.map((section) =>
      section.title === 'Options' && rows.length > 0
        ? { title: 'Flags', body: `${formatColumns(rows)}\n\n${SETTINGS_NOTE}` }
        : section,
    ),
  ])
}

async function listSettingRows(
  command: Command['settings'],
): Promise<readonly (readonly [string, string])[]> {
  if (command === undefined) return []
  const { listSettings } = await import('../platform/settings/command.ts')
  return [...listSettings(command).map(toRow), ['-h, --help', 'Show this help']]
}

function toRow({
  name,
  placeholder,
  kind,
  description,
  ...setting
}: Setting<unknown>): readonly [string, string] {
  const left = kind === 'switch' ? `--${name}` : `--${name} <${placeholder}>`
  const isUnset = setting.default.trim() === ''
  const standard = isUnset ? setting.unset : setting.default
  const repeat = kind === 'list' ? '; repeatable' : ''
  return [left, `${description}${repeat}${standard === undefined ? '' : ` (default: ${standard})`}`]
}
