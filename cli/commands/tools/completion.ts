import { suggest } from '../../../lib/text/did-you-mean.ts'
import { type Command, defineCommand } from '../../command.ts'
import { SCRIPTS } from '../../completion/scripts.ts'
import { usageError } from '../../ui/output.ts'

const command: Command = defineCommand({
  name: 'completion',
  description: 'Print the completion script for a shell',
  usage: '<bash | zsh | fish>',
  examples: [
    'source <(mx completion bash)',
    'mx completion zsh > ~/.zfunc/_mx',
    'mx completion fish > ~/.config/fish/completions/mx.fish',
  ],
  run([shell = '', ...rest]) {
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
    if (script === undefined || rest.length > 0) {
      const shells = Object.keys(SCRIPTS)
      const similar = suggest(shell, shells)
      const hint = similar === undefined ? '' : `, did you mean ${similar}?`
      throw usageError('completion', `expected a shell: ${shells.join(', ')}${hint}`)
    }
    process.stdout.write(script)
  },
})

export default command
