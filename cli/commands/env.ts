import type { CAC } from 'cac'

/** Adds `mx env list` and others. */
export function registerEnv(cli: CAC): void {
  cli
    .command('env [...words]', 'List, select, add and delete environments')
    .usage('env [list | get | set <name> | add <name> <host:port> | del <name>] [flags]')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'The one to take for selected; so does MX_ENV')
    .example((bin) => `  ${bin} env add staging staging.example.com:8081`)
    .example((bin) => `  ${bin} env add secure mxs://mx.example.com      # TLS`)
    .example((bin) => `  ${bin} env set staging`)
    .allowUnknownOptions()
    .action(async () => {
      const { runEnv } = await import('../env.ts')
      await runEnv(cli)
    })
}
