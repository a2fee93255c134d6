import type { CAC } from 'cac'

/** Adds `mx version`. */
export function registerVersion(cli: CAC): void {
  cli
    .command('version [...words]', 'Show the version of this program')
    .usage('version [flags]')
    .option('-o, --output <format>', 'text, json or yaml (default: text)')
    .example((bin) => `  ${bin} version -o json`)
    .allowUnknownOptions()
    .action(async () => {
      const { runVersion } = await import('../version.ts')
      await runVersion(cli)
    })
}
