import type { CAC } from 'cac'

/** Adds `mx services`. */
export function registerServices(cli: CAC): void {
  cli
    .command('services [...words]', 'List the services that are registered')
    .usage('services [flags]')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the services (default: that of the login)')
    .example((bin) => `  ${bin} services`)
    .example((bin) => `  ${bin} services -o json`)
    .allowUnknownOptions()
    .action(async () => {
      const { runServices } = await import('../services.ts')
      await runServices(cli)
    })
}
