import type { CAC } from 'cac'

/** Adds `mx user`, `mx user token` and others. */
export function registerUser(cli: CAC): void {
  cli
    .command('user [...words]', 'Show who is logged in')
    .usage(
      'user [token | namespace [set <name>] | config [set <name> <value>] | set password] [flags]',
    )
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the account (default: that of the login)')
    .option('--username <id>', 'Of set password: whose (default: who is logged in)')
    .option('--email <id>', 'The same as --username')
    .option('--old_password <password>', 'For set password; asked for where it is missing')
    .option('--new_password <password>', 'For set password; asked for where it is missing')
    .example((bin) => `  ${bin} user config set git.baseurl github.com/<owner>`)
    .example((bin) => `  ${bin} user config set git.credentials - < token`)
    .example(
      (bin) => `  curl -H "Authorization: Bearer $(${bin} user token)" 127.0.0.1:8080/store/list`,
    )
    .allowUnknownOptions()
    .action(async () => {
      const { runUser } = await import('../user.ts')
      await runUser(cli)
    })
}
