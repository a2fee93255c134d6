import type { CAC } from 'cac'

/** Adds `mx stream`. */
export function registerStream(cli: CAC): void {
  cli
    .command('stream [...words]', 'Call an endpoint, and print the stream it answers with')
    .usage('stream <service> <Handler.Method> [<request> | @<file> | -] [flags]')
    .option('-o, --output <format>', 'json, yaml, or raw: JSON in one line (default: json)')
    .option('--metadata <name=value>', 'Sent along; repeatable')
    .option(
      '--address <host:port>',
      'Where the service is, in place of what the registry says; it is shown your login',
    )
    .option('--request_timeout <duration>', 'How long it may take (default: no end)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the call (default: that of the login)')
    .example((bin) => `  ${bin} stream registry Registry.Watch -o yaml`)
    .allowUnknownOptions()
    .action(async () => {
      const { runStream } = await import('../call.ts')
      await runStream(cli)
    })
}
