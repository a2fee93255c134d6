import type { CAC } from 'cac'

/** Adds `mx doctor`. */
export function registerDoctor(cli: CAC): void {
  cli
    .command('doctor [...words]', 'Check this machine and the server, and say what to do')
    .usage('doctor [flags]')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the login (default: that of the last one)')
    .example((bin) => `  ${bin} doctor`)
    .example((bin) => `  ${bin} doctor --env dev -o json`)
    .allowUnknownOptions()
    .action(async () => {
      const { runDoctor } = await import('../doctor.ts')
      process.exitCode = await runDoctor(cli)
    })
}
