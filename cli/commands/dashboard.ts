import type { CAC } from 'cac'

/** Adds `mx dashboard`. */
export function registerDashboard(cli: CAC): void {
  cli
    .command('dashboard [...words]', 'Start the dashboard alone, of an environment')
    .usage('dashboard [flags]')
    .option('--address <host:port>', 'Where it listens (default: 127.0.0.1:8082)')
    .option('--hosts <name>', 'A name it is reached by besides localhost, or any; repeatable')
    .option(
      '--session_idle_timeout <duration>',
      'Time after which a session ends that no open page uses (default: 30m)',
    )
    .option('--session_max_age <duration>', 'Time after the login at which it ends (default: 12h)')
    .option('--env <name>', 'Environment it shows (default: the selected one)')
    .example((bin) => `  ${bin} dashboard`)
    .example((bin) => `  ${bin} dashboard --address 127.0.0.1:9082 --env staging`)
    .allowUnknownOptions()
    .action(async () => {
      const { runDashboardCommand } = await import('../dashboard.ts')
      await runDashboardCommand(cli)
    })
}
