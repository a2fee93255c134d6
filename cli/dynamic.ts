import { suggest } from '../core/suggest.ts'
import { COMMANDS } from './command-table.ts'
import { CliError } from './output.ts'

/** Calls a service by its name (reference 8.2). @throws {CliError} */
export async function runDynamic(
  word: string,
  _args: readonly string[],
  _globals: readonly string[],
): Promise<void> {
  const meant = suggest(
    word,
    COMMANDS.map(({ name }) => name),
  )
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  throw new CliError(`Unrecognized mx command: ${word}.${hint} Please refer to 'mx --help'`)
}
