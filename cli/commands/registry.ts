import type { CAC } from 'cac'

/** Adds `mx registry get`. */
export function registerRegistry(cli: CAC): void {
  cli
    .command('registry [...words]', 'Show a service: versions, nodes, endpoints')
    .usage('registry get <service> [flags]')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the service (default: that of the login)')
    .example((bin) => `  ${bin} registry get helloworld`)
    .example((bin) => `  ${bin} registry listServices`)
    .allowUnknownOptions()
    .action(async () => {
      const { runRegistry } = await import('../registry.ts')
      await runRegistry(cli)
    })
}
