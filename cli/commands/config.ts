import type { CAC } from 'cac'

/** Adds `mx config get` and others (specification: Command line). */
export function registerConfig(cli: CAC): void {
  cli
    .command('config [...words]', 'Read and change the configuration of services')
    .usage(
      'config <get <path> | set <path> <value> | del <path> | list [path] | history | rollback <version>> [flags]',
    )
    .option('--secret', 'Of get: shows secrets; of set: the value is one, and encrypted')
    .option('--version <n>', 'Of get: as it was, see history')
    .option('--all', 'Of get and del: everything, in place of a path')
    .option('-v, --verbose', 'Of list: also which are secret')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace (default: that of the login)')
    .example((bin) => `  ${bin} config set helloworld.greeting Hello`)
    .example((bin) => `  ${bin} config set helloworld.db '{"host":"localhost","pool":{"max":10}}'`)
    .example((bin) => `  ${bin} config set --secret helloworld.db.password - < password.txt`)
    .example((bin) => `  ${bin} config get helloworld.db.pool.max`)
    .example((bin) => `  ${bin} config get helloworld --version 12`)
    .example((bin) => `  ${bin} config rollback 12`)
    .allowUnknownOptions()
    .action(async () => {
      const { runConfig } = await import('../config.ts')
      await runConfig(cli)
    })
}
