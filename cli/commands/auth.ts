import type { CAC } from 'cac'

/** Adds `mx auth list rules` and others. */
export function registerAuth(cli: CAC): void {
  cli
    .command('auth [...words]', 'Manage accounts and rules')
    .usage(
      'auth <list rules | list accounts | create rule <id> | create account <id> | create token <id> | update secret <id> | delete rule <id> | delete account <id> | test <service> <endpoint> | reset> [flags]',
    )
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of accounts and rules (default: that of the login)')
    .option('--scope <scope>', 'Of a rule: <public>, * or a scope of accounts (default: <public>)')
    .option('--resource <type:name:endpoint>', 'Of a rule, such as service:helloworld:*')
    .option('--access <granted|denied>', 'Of a rule (default: granted)')
    .option('--priority [n]', 'Of a rule; higher ones are asked first (default: 0)')
    .option('--scopes <a,b>', 'Of an account')
    .option(
      '--secret [secret]',
      'Of an account that is made (default: a random one), or that a token is for; - is standard input',
    )
    .option('--expiry <span>', 'Of a token: how long it is good, up to 1h (default: 15m)')
    .option('--old_secret [secret]', 'Of an account; administrators need not know it')
    .option(
      '--new_secret [secret]',
      'Of an account, asked for where it is missing; - is standard input',
    )
    .option('--type <user|service>', 'Of an account (default: user)')
    .option('--account <id>', 'Who calls, for test (default: somebody without a token)')
    .option('--domain <name>', 'Namespace of the service, for test (default: mx)')
    .option('--force', 'Also when only operators can log in, or you cannot change rules any more')
    .option(
      '--data_dir <folder>',
      'Data folder of a stopped server, for reset, which takes the flags of mx server (default: ~/.mx/server)',
    )
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .example((bin) => `  ${bin} auth create rule --scope='*' --resource='*:*:*' onlyloggedin`)
    .example((bin) => `  ${bin} auth reset --data_dir=/var/lib/mx`)
    .example(
      (bin) => `  TOKEN=$(${bin} auth create token reports --secret - --expiry 1h < secret.txt)`,
    )
    .allowUnknownOptions()
    .action(async () => {
      const { runAuth } = await import('../auth.ts')
      await runAuth(cli)
    })
}
