import type { CAC } from 'cac'

/** Adds `mx network nodes` and others (reference 8.4). */
export function registerNetwork(cli: CAC): void {
  cli
    .command('network [...words]', 'Show and make links between servers')
    .usage(
      'network <nodes | connections | routes | services | graph | connect <address>...> [flags]',
    )
    .option('--depth <n>', 'Of nodes and graph: so many links away at most (default: all)')
    .option('--service <name>', 'Of routes: to this service')
    .option('--address <host:port>', 'Of routes: of the server that has it')
    .option('--gateway <host:port>', 'Of routes: address of the next server')
    .option('--router <id>', 'Of routes: id of the next server')
    .option('--network <name>', 'Of routes: in this network')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the call (default: that of the login)')
    .example((bin) => `  ${bin} network connect 10.0.0.2:8081 10.0.0.3:8081`)
    .example((bin) => `  ${bin} network routes --service helloworld`)
    .allowUnknownOptions()
    .action(async () => {
      const { runNetwork } = await import('../network.ts')
      await runNetwork(cli)
    })
}
