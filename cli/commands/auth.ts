import type { CAC } from 'cac'

/** Adds `mx auth list rules` and others. */
export function registerAuth(cli: CAC): void {
  cli
    .command('auth [...words]', 'Manage accounts and rules')
    .usage(
      'auth <list rules | list accounts | create rule <id> | create account <id> | delete rule <id> | delete account <id> | test <service> <endpoint>> [flags]',
    )
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of accounts and rules (default: that of the login)')
    .option('--scope <scope>', 'Of a rule: <public>, * or a scope of accounts (default: <public>)')
    .option('--resource <type:name:endpoint>', 'Of a rule, such as service:helloworld:*')
    .option('--access <granted|denied>', 'Of a rule (default: granted)')
    .option('--priority <n>', 'Of a rule; higher ones are asked first (default: 0)')
    .option('--scopes <a,b>', 'Of an account')
    .option('--secret <secret>', 'Of an account (default: a random one)')
    .option('--type <user|service>', 'Of an account (default: user)')
    .option('--account <id>', 'Who calls, for test (default: somebody without a token)')
    .option('--domain <name>', 'Namespace of the service, for test (default: mx)')
    .option('--force', 'Also when nobody can log in, or you cannot change rules any more')
    .option('-o, --output <format>', 'text or json (default: text)')
    .example((bin) => `  ${bin} auth create rule --scope='*' --resource='*:*:*' onlyloggedin`)
    .allowUnknownOptions()
    .action(async () => {
      const { runAuth } = await import('../auth.ts')
      await runAuth(cli)
    })
}
