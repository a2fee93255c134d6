import type { CAC } from 'cac'

/** Adds `mx broker publish` and `mx broker subscribe` (reference 5.1). */
export function registerBroker(cli: CAC): void {
  cli
    .command('broker [...words]', 'Publish messages and subscribe to them')
    .usage('broker <publish <topic> <message> | subscribe <topic>> [flags]')
    .option('--header <name=value>', 'Of publish: said of the message; repeatable')
    .option('--queue <name>', 'Of subscribe: of all who name the same, one gets a message')
    .option('-l, --limit <n>', 'Of subscribe: ends after so many (default: at Ctrl-C)')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace of the topic (default: that of the login)')
    .example((bin) => `  ${bin} broker subscribe orders -o json`)
    .example((bin) => `  ${bin} broker publish orders '{"id":5}'`)
    .example((bin) => `  ${bin} broker publish images @logo.png --header content-type=image/png`)
    .allowUnknownOptions()
    .action(async () => {
      const { runBroker } = await import('../broker.ts')
      await runBroker(cli)
    })
}
