import type { CAC } from 'cac'

/** Adds `mx completion`. */
export function registerCompletion(cli: CAC): void {
  cli
    .command('completion [...words]', 'Complete commands, services and fields in a shell')
    .usage('completion <bash | zsh | fish>')
    .example((bin) => `  source <(${bin} completion bash)`)
    .example((bin) => `  ${bin} completion zsh > ~/.zfunc/_mx`)
    .example((bin) => `  ${bin} completion fish > ~/.config/fish/completions/mx.fish`)
    .allowUnknownOptions()
    .action(async () => {
      const { runCompletion } = await import('../completion.ts')
      runCompletion(cli)
    })
}
