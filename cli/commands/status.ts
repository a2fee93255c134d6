import type { CAC } from 'cac'

/** Adds `mx status` (specification: Command line). */
export function registerStatus(cli: CAC): void {
  cli
    .command('status [...words]', 'Show what runs')
    .usage('status [<name or source> [<version>]] [flags]')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace it runs in (default: that of the login)')
    .example((bin) => `  ${bin} status helloworld -o json`)
    .allowUnknownOptions()
    .action(async () => {
      const { runStatus } = await import('../status.ts')
      await runStatus(cli)
    })
}
