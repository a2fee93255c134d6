import type { CAC } from 'cac'

/** Adds `mx store read` and others (reference 4). */
export function registerStore(cli: CAC): void {
  cli
    .command('store [...words]', 'Read and write records of the store')
    .usage(
      'store <read [key] | list | write <key> <value> | delete <key> | databases | tables | snapshot [file] | restore [file]> [flags]',
    )
    .option('-d, --database <name>', 'Database (default: the namespace)')
    .option('-t, --table <name>', 'Table; services have their name (default: mx)')
    .option(
      '-p, --prefix [text]',
      'Of list: keys that begin so; of read: the key is what keys begin with',
    )
    .option('--suffix [text]', 'The same, of ends of keys')
    .option('--from <key>', 'Of read and list: the first key')
    .option('--to <key>', 'Of read and list: where to stop, itself left out')
    .option('-l, --limit <n>', 'Of read and list: as many at most')
    .option('--offset <n>', 'Of read and list: so many are left out from the start')
    .option('--order <asc|desc>', 'Of read and list (default: asc)')
    .option('-e, --expiry <span>', 'Of write: when the record ends, such as 10m (default: never)')
    .option('-v, --verbose', 'Of read: with keys, and when records end')
    .option('--destination <file>', 'Of snapshot: where to, in place of the word')
    .option('--source <file>', 'Of restore: where from, in place of the word')
    .option('--all', 'Of snapshot: all databases, in place of that of the namespace')
    .option('-o, --output <format>', 'text, json, yaml, or of read raw (default: text)')
    .option('--env <name>', 'Environment (default: the selected one)')
    .option('--namespace <name>', 'Namespace (default: that of the login)')
    .example((bin) => `  ${bin} store write -t helloworld user/1 '{"name":"Ann"}'`)
    .example((bin) => `  ${bin} store read -t helloworld --prefix user/`)
    .example((bin) => `  ${bin} store write -t helloworld logo @logo.png --expiry=1h`)
    .example((bin) => `  ${bin} store snapshot backup.jsonl`)
    .allowUnknownOptions()
    .action(async () => {
      const { runStore } = await import('../store.ts')
      await runStore(cli)
    })
}
