import type { CAC } from 'cac'
import { inlineMore } from '../../lib/process/inline-more.ts'
import { addFlags } from '../args/flags.ts'

/** Adds `mx server`: the whole system (specification: Command line). */
export async function registerServer(cli: CAC): Promise<void> {
  const command = cli
    .command('server [...words]', 'Start the whole system')
    .usage('server [flags]')
    .example((bin) => `  ${bin} server`)
    .example((bin) => `  ${bin} server --profile=test --address :9080`)
    .example(
      (bin) => `  ${bin} server --store=postgres://mx@db/mx --registry=consul://127.0.0.1:8500`,
    )
    // The flags are read by the platform, from the words as they were typed.
    .allowUnknownOptions()
    .action(async () => {
      const { runServer } = await import('../../platform/server/run-server.ts')
      await runServer(cli.rawArgs.slice(3), process.env)
      inlineMore()
    })
  await addFlags(cli, command, 'server')
}
