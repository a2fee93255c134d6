import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { escapeControls } from '../../lib/text/terminal-text.ts'
import { CliError, EXIT } from './output.ts'
import { toRawTerminal } from './terminal.ts'

/**
 * Prompts on the terminal.
 *
 * @param flag alternative flag, named in the error without a terminal
 * @throws {CliError} without a terminal, or without input
 */
export async function prompt(
  question: string,
  flag: string,
  { hidden = false }: { readonly hidden?: boolean } = {},
): Promise<string> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new CliError(`${flag} is required without a terminal`, {
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
  const leaving = new AbortController()
  let status: number = EXIT.failed
  reader.on('SIGINT', () => {
    status = EXIT.interrupted
    reader.close()
  })
  reader.on('close', () => leaving.abort())
  try {
    const answer = reader.question(escapeControls(question), { signal: leaving.signal })
    isMuted = hidden
    return await answer
  } catch (cause) {
    throw new CliError('no input', { status, cause })
  } finally {
    reader.close()
    if (hidden) terminal.write('\n')
  }
}

/**
 * Prompts twice for a new secret, because the input is hidden.
 *
 * @param label name of the secret, for prompts
 * @param flag see {@link prompt}
 * @throws {CliError} as {@link prompt}, or if the inputs differ
 */
export async function promptNewSecret(label: string, flag: string): Promise<string> {
  const secret = await prompt(`Enter new ${label}: `, flag, { hidden: true })
  if (secret === (await prompt('Repeat it: ', flag, { hidden: true }))) return secret
  throw new CliError(`the ${label}s do not match: nothing was changed`)
}

/** Reads a secret from standard input, without the final line feed. */
export async function readInput(): Promise<string> {
  let text = ''
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin) text += chunk
  return text.replace(/\r?\n$/, '')
}
