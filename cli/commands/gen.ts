import type { CAC } from 'cac'

/** Adds `mx gen client`. */
export function registerGen(cli: CAC): void {
  cli
    .command('gen [...words]', 'Write a client of services that run')
    .usage('gen client <service>... [flags]')
    .option('--language <name>', 'typescript or openapi (default: typescript)')
    .option('--file <path>', 'Where to write it (default: standard output)')
    .option(
      '--url <url>',
      'Gateway that an OpenAPI document names (default: http://127.0.0.1:8080)',
    )
    .option('-o, --output <format>', 'json or yaml, of an OpenAPI document (default: json)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the services (default: that of the login)')
    .example((bin) => `  ${bin} gen client helloworld --file helloworld-client.ts`)
    .example((bin) => `  ${bin} gen client helloworld mail --language openapi --file api.yaml`)
    .allowUnknownOptions()
    .action(async () => {
      const { runGen } = await import('../gen.ts')
      await runGen(cli)
    })
}
