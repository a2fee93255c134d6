import type { CAC } from 'cac'
import { SETTING_KEYS } from '../../platform/settings-sources.ts'
import { SETTINGS } from '../../platform/settings.ts'
import { formatColumns } from '../output.ts'

/** `mx api`: the gateway alone. */
export function registerApi(cli: CAC): void {
  const command = cli
    .command('api [...words]', 'start the gateway alone')
    .usage('api [flags]')
    .example('  $ mx api --backend greeter=127.0.0.1:9001,127.0.0.1:9002')
    .example('  $ mx api --handler=web --address :8080 --config mx.yaml')
    // The flags are read and checked by the platform, which says what was meant.
    .allowUnknownOptions()
    .action(async () => {
      const { readFlags } = await import('../../platform/settings-flags.ts')
      const flags = readFlags(cli.rawArgs.slice(3))
      const { runApi } = await import('../../platform/run-api.ts')
      await runApi(flags, process.env)
    })
  for (const key of SETTING_KEYS) {
    const { name, form, kind, description } = SETTINGS[key]
    command.option(kind === 'switch' ? `--${name}` : `--${name} [${form}]`, description)
  }
  cli.globalCommand.helpCallback = (sections) => {
    const body = formatColumns(SETTING_KEYS.map(describe), process.stdout.columns ?? 100)
    const note = 'Every flag is also an environment variable (MX_ and its name in capitals) and a key of mx.yaml.'
    return sections.map((each) => (each.title === 'Options' ? { title: 'Flags', body: `${body}\n\n${note}` } : each))
  }
}

function describe(key: (typeof SETTING_KEYS)[number]): [string, string] {
  const { name, form, kind, description, default: standard, unset } = SETTINGS[key]
  const left = kind === 'switch' ? `--${name}` : `--${name} <${form}>`
  const note = standard === '' ? unset : standard
  return [left, `${description}${note === undefined ? '' : ` (default: ${note})`}${kind === 'list' ? '; repeatable' : ''}`]
}
