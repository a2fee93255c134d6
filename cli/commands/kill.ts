import type { CAC } from 'cac'

/** Adds `mx kill` (specification: Command line). */
export function registerKill(cli: CAC): void {
  cli
    .command('kill [...words]', 'End what runs')
    .usage('kill <name>[@<branch or commit>] [flags]')
    .option('--force', 'Also where the server that runs it is gone for good: it is forgotten')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace it runs in (default: that of the login)')
    .example((bin) => `  ${bin} kill helloworld`)
    .allowUnknownOptions()
    .action(async () => {
      const { runKill } = await import('../kill.ts')
      await runKill(cli)
    })
}
