import type { CAC } from 'cac'

/** Adds `mx login`. */
export function registerLogin(cli: CAC): void {
  cli
    .command('login [...words]', 'Log in to an environment')
    .usage('login [id] [flags]')
    .option('--username <id>', 'Account to log in as')
    .option('--email <id>', 'The same as --username')
    .option(
      '--password [password]',
      'Its password; other users of this machine may see it; - is standard input',
    )
    .option('--password_stdin', 'Read the password from standard input')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option(
      '--namespace <name>',
      'Namespace of the account (default: that of the last login, else mx)',
    )
    .example((bin) => `  ${bin} login admin`)
    .allowUnknownOptions()
    .action(async () => {
      const { logIn } = await import('../login.ts')
      await logIn(cli)
    })
}
