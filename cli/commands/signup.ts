import type { CAC } from 'cac'

/** Adds `mx signup`. */
export function registerSignup(cli: CAC): void {
  cli
    .command('signup [...words]', 'Make an account, where the environment has a signup service')
    .usage('signup [flags]')
    .option('--email <email>', 'Of the account; asked for where it is missing')
    .option('--token <code>', 'The code that was sent there; asked for where it is missing')
    .option('--password <password>', 'Asked for where it is missing')
    .option('--password_stdin', 'Read the password from standard input')
    .option('--env <name>', 'Environment (default: the selected one)')
    .example((bin) => `  ${bin} signup --env=platform --email=john@example.com`)
    .allowUnknownOptions()
    .action(async () => {
      const { runSignup } = await import('../signup.ts')
      await runSignup(cli)
    })
}
