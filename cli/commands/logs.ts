import type { CAC } from 'cac'

/** Adds `mx logs` (specification: Command line). */
export function registerLogs(cli: CAC): void {
  cli
    .command('logs [...words]', 'Show what a service has written')
    .usage('logs <name>[@<branch or commit>] [flags]')
    .option('-f, --follow', 'Go on with what it writes from now on')
    .option('-n, --lines [n]', 'The last lines, or all (default: 15; with --since all)')
    .option('--since <span or time>', 'Only what is not older, such as 10m or 2026-01-31T12:00:00Z')
    .option('--build', 'What its last build wrote, in place of what it writes')
    .option('--version <version>', 'The branch or commit, in place of what stands behind the @')
    .option(
      '-o, --output <format>',
      'text; json or yaml with time, instance and stream (default: text)',
    )
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace it runs in (default: that of the login)')
    .example((bin) => `  ${bin} logs -f helloworld`)
    .allowUnknownOptions()
    .action(async () => {
      const { runLogs } = await import('../logs.ts')
      await runLogs(cli)
    })
}
