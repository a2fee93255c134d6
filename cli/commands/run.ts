import type { CAC } from 'cac'
import { addRunOptions } from '../runtime/run-options.ts'

/** Adds `mx run`: has the platform run a source (specification: Command line). */
export function registerRun(cli: CAC): void {
  const command = cli
    .command('run [...words]', 'Run a service from a folder or a repository')
    .usage('run <folder, file, address or name>[@<branch or commit>] [flags]')
  addRunOptions(command)
    .option('--force', 'Also where something of that name runs: it is replaced')
    .example((bin) => `  ${bin} run ./helloworld`)
    .example((bin) => `  ${bin} run github.com/<owner>/helloworld@main --name=hello --instances=2`)
    .action(async () => {
      const { runRun } = await import('../run.ts')
      await runRun(cli)
    })
}
