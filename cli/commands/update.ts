import type { CAC } from 'cac'
import { addRunOptions } from '../runtime/run-options.ts'

/** Adds `mx update`: takes what runs to its newest code (specification: Command line). */
export function registerUpdate(cli: CAC): void {
  const command = cli
    .command('update [...words]', 'Take what runs to its newest code, without losing a call')
    .usage('update <name or source>[@<branch or commit>] [flags]')
  addRunOptions(command)
    .option('--rollback', 'Back to the build before')
    .example((bin) => `  ${bin} update ./helloworld`)
    .example((bin) => `  ${bin} update helloworld --rollback`)
    .action(async () => {
      const { runUpdate } = await import('../update.ts')
      await runUpdate(cli)
    })
}
