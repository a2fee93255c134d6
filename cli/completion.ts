import type { CAC } from 'cac'
import { suggest } from '../lib/text/did-you-mean.ts'
import { SCRIPTS } from './completion/scripts.ts'
import { CliError, EXIT } from './ui/output.ts'

/** Prints what a shell loads. @throws {CliError} */
export function runCompletion(cli: CAC): void {
  const [shell = '', ...rest] = cli.rawArgs.slice(3)
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
  if (script === undefined || rest.length > 0) {
    const shells = Object.keys(SCRIPTS)
    const meant = suggest(shell, shells)
    const hint = meant === undefined ? '.' : `, did you mean ${meant}?`
    throw new CliError(
      `a shell is expected: ${shells.join(', ')}${hint} See 'mx completion --help'`,
      { status: EXIT.usage },
    )
  }
  process.stdout.write(script)
}
