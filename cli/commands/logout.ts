import type { CAC } from 'cac'

/** Adds `mx logout`. */
export function registerLogout(cli: CAC): void {
  cli
    .command('logout [...words]', 'Log out of an environment')
    .usage('logout [flags]')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the account (default: that of the login)')
    .example((bin) => `  ${bin} logout --env staging`)
    .allowUnknownOptions()
    .action(async () => {
      const { logOut } = await import('../logout.ts')
      await logOut(cli)
    })
}
