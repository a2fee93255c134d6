import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { escapeControls } from '../../lib/text/terminal-text.ts'
import { CliError, EXIT } from './output.ts'
import { toRawTerminal } from './terminal.ts'

/**
 * Asks whoever sits at the terminal.
 *
 * @param flag that gives the answer where there is no terminal.
 * @throws {CliError} without a terminal, and when nothing is answered.
 */
export async function prompt(
  question: string,
  flag: string,
  { hidden = false }: { readonly hidden?: boolean } = {},
): Promise<string> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new CliError(`${flag} is missing, and there is no terminal to ask at`, {
      status: EXIT.usage,
    })
  let isMuted = false
  const terminal = toRawTerminal(process.stderr)
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!isMuted) terminal.write(chunk)
      done()
    },
  })
  const reader = createInterface({ input: process.stdin, output, terminal: true })
  const left = new AbortController()
  let status: number = EXIT.failed
  reader.on('SIGINT', () => {
    status = EXIT.interrupted
    reader.close()
  })
  reader.on('close', () => left.abort())
  try {
    const answer = reader.question(escapeControls(question), { signal: left.signal })
    isMuted = hidden
    return await answer
  } catch (cause) {
    throw new CliError('nothing was answered', { status, cause })
  } finally {
    reader.close()
    if (hidden) terminal.write('\n')
  }
}

/**
 * Asks for a new secret twice: nobody sees what is typed.
 *
 * @param what it is called.
 * @param flag as that of {@link prompt}.
 * @throws {CliError} as {@link prompt}, and for two different ones.
 */
export async function promptNewSecret(what: string, flag: string): Promise<string> {
  const secret = await prompt(`Enter new ${what}: `, flag, { hidden: true })
  if (secret === (await prompt('Enter it again: ', flag, { hidden: true }))) return secret
  throw new CliError(`these were two different ${what}s: nothing was changed`)
}

/** All of standard input, for secrets that scripts hand over; a line feed at its end does not belong to it. */
export async function readInput(): Promise<string> {
  let text = ''
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin) text += chunk
  return text.replace(/\r?\n$/, '')
}
