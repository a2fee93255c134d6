import type { CAC } from 'cac'

/** Adds `mx new`. */
export function registerNew(cli: CAC): void {
  cli
    .command('new [...words]', 'Begin a service, a plugin or a gateway')
    .usage('new [service | plugin | gateway] <name>')
    .example((bin) => `  ${bin} new helloworld`)
    .example((bin) => `  ${bin} new plugin api-key`)
    .example((bin) => `  ${bin} new gateway edge`)
    .allowUnknownOptions()
    .action(async () => {
      const { runNew } = await import('../new.ts')
      runNew(cli)
    })
}
