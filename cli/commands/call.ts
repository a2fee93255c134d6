import type { CAC } from 'cac'

/** Adds `mx call`. */
export function registerCall(cli: CAC): void {
  cli
    .command('call [...words]', 'Call an endpoint of a service')
    .usage('call <service> <Handler.Method> [<request> | @<file> | -] [flags]')
    .option('-o, --output <format>', 'json, yaml, or raw: JSON in one line (default: json)')
    .option('--metadata <name=value>', 'Sent along; repeatable')
    .option(
      '--address <host:port>',
      'Where the service is, in place of what the registry says; it is shown your login',
    )
    .option('--request_timeout <duration>', 'How long it may take (default: 10s)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the call (default: that of the login)')
    .example((bin) => `  ${bin} call helloworld Helloworld.Call '{"name":"John"}'`)
    .allowUnknownOptions()
    .action(async () => {
      const { runCall } = await import('../call.ts')
      await runCall(cli)
    })
}
