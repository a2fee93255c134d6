import type { CAC } from 'cac'
import type { Setting } from '../../platform/settings.ts'
import { formatColumns } from '../output.ts'

/** Adds `mx api`: the gateway alone. */
export async function registerApi(cli: CAC): Promise<void> {
  const { SETTINGS } = await import('../../platform/settings.ts')
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS)
  const command = cli
    .command('api [...words]', 'Start the gateway alone')
    .usage('api [flags]')
    .example((bin) => `  ${bin} api --backend greeter=127.0.0.1:9001,127.0.0.1:9002`)
    .example((bin) => `  ${bin} api --handler=web --address :8080 --config mx.yaml`)
    // The flags are read by the platform, from the words as they were typed.
    .allowUnknownOptions()
    .action(async () => {
      const { readFlags } = await import('../../platform/settings-flags.ts')
      const flags = readFlags(cli.rawArgs.slice(3))
      const { runApi } = await import('../../platform/run-api.ts')
      await runApi(flags, process.env)
    })
  for (const { name, form, kind, description } of settings) {
    command.option(kind === 'switch' ? `--${name}` : `--${name} [${form}]`, description)
  }
  cli.globalCommand.helpCallback = (sections) => {
    const rows = [...settings.map(describe), ['-h, --help', 'Show this help'] as const]
    const body = formatColumns(rows, process.stdout.columns ?? 100)
    const note =
      'Every flag is also an environment variable (MX_ and its name in capitals), and most are keys of mx.yaml.'
    return sections.map((each) =>
      each.title === 'Options' ? { title: 'Flags', body: `${body}\n\n${note}` } : each,
    )
  }
}

function describe({
  name,
  form,
  kind,
  description,
  ...setting
}: Setting<unknown>): readonly [string, string] {
  const left = kind === 'switch' ? `--${name}` : `--${name} <${form}>`
  const standard = setting.default === '' ? setting.unset : setting.default
  const repeat = kind === 'list' ? '; repeatable' : ''
  return [left, `${description}${repeat}${standard === undefined ? '' : ` (default: ${standard})`}`]
}
