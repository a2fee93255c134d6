import type { CAC, Command as CacCommand } from 'cac'
import type { Command, Setting } from '../../platform/settings/setting.ts'
import { formatColumns } from '../ui/output.ts'

const NOTE =
  'Every flag is also an environment variable (MX_ and its name in capitals), and most are keys of mx.yaml.'

/** Adds the settings of a command as its flags, and their help. */
export async function addFlags(cli: CAC, to: CacCommand, command: Command): Promise<void> {
  const { listSettings } = await import('../../platform/settings/command.ts')
  const settings = listSettings(command)
  for (const { name, placeholder, kind, description } of settings)
    to.option(kind === 'switch' ? `--${name}` : `--${name} [${placeholder}]`, description)
  const { helpCallback } = cli.globalCommand
  cli.globalCommand.helpCallback = (plain) => {
    const sections = helpCallback?.(plain) || plain
    const rows = [...settings.map(describe), ['-h, --help', 'Show this help'] as const]
    const body = formatColumns(rows)
    return sections.map((each) =>
      each.title === 'Options' ? { title: 'Flags', body: `${body}\n\n${NOTE}` } : each,
    )
  }
}

function describe({
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
