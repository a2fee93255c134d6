import type { CAC } from 'cac'

/** Adds `mx stats`. */
export function registerStats(cli: CAC): void {
  cli
    .command('stats [...words]', 'Show request rates and resource usage of services')
    .usage('stats [<service> ...] [flags]')
    .option('--all <builtin|custom>', 'Those of the platform, or all others (default: both)')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the services (default: that of the login)')
    .example((bin) => `  ${bin} stats helloworld`)
    .allowUnknownOptions()
    .action(async () => {
      const { runStats } = await import('../stats.ts')
      await runStats(cli)
    })
}
