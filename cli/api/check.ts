import { print, toFormat } from '../ui/format.ts'
import { extractFlags } from './extract-flags.ts'
import { formatSettings } from './format-explanation.ts'

/**
 * `mx api check`: validates the configuration without starting the gateway.
 *
 * @throws {CliError}, {@link SettingsError}
 */
export async function runCheck(words: readonly string[]): Promise<void> {
  const { values, rest } = extractFlags(words, { '-o': 'output', '--output': 'output' })
  const [output] = values.output ?? []
  const format = toFormat({ ...(output !== undefined && { output }) })
  const [
    { readFlags },
    { configurationFrom },
    { checkApi },
    { createLog },
    { createDisposer },
    env,
  ] = await Promise.all([
    import('../../platform/settings/flags.ts'),
    import('../../platform/config/load.ts'),
    import('../../platform/config/check-configuration.ts'),
    import('../../platform/process/log.ts'),
    import('../../lib/async/disposer.ts'),
    import('../../platform/settings/env.ts'),
  ])
  const configuration = await configurationFrom(readFlags(rest, 'api'), process.env)()
  const closing = createDisposer()
  try {
    const checked = await checkApi(configuration, createLog('silent'), closing)
    const warnings = [...env.findMisspelt(process.env), ...checked.warnings]
    const { file = 'the configuration', address, others, handler, services, plugins } = checked
    const text = [
      `${file} is valid`,
      `  address   ${address}`,
      ...others.map((url) => `  listener  ${url}`),
      `  handler   ${handler}`,
      `  services  ${services.join(', ') || 'none'}`,
      ...Object.entries(checked.serviceSettings).map(
        ([name, settings]) => `  service   ${name}: ${formatSettings(settings)}`,
      ),
      `  plugins   ${plugins.join(', ') || 'none'}`,
      ...warnings.map((warning) => `warning: ${warning}`),
    ]
    await print(format, { ...checked, warnings }, `${text.join('\n')}\n`)
  } finally {
    await closing.close()
  }
}
