import type { CAC } from 'cac'
import { SCRIPTS } from './completion/scripts.ts'
import { CliError, EXIT } from './output.ts'

const SEPARATOR = '--'

/** Prints what a shell loads, or, for what it loaded, what may follow. @throws {CliError} */
export async function runCompletion(cli: CAC): Promise<void> {
  const [shell, separator, ...words] = cli.rawArgs.slice(3)
  if (shell === 'words' && separator === SEPARATOR) {
    const { listCandidates } = await import('./completion/candidates.ts')
    process.stdout.write((await listCandidates(words)).map((word) => `${word}\n`).join(''))
    return
  }
  const script = Object.hasOwn(SCRIPTS, shell ?? '') ? SCRIPTS[shell!] : undefined
  if (script === undefined || separator !== undefined)
    throw new CliError(
      `a shell is expected: ${Object.keys(SCRIPTS).join(', ')}. See 'mx completion --help'`,
      { status: EXIT.usage },
    )
  process.stdout.write(script)
}
