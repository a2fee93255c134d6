/** Exit statuses of every command. */
export const EXIT = {
  ok: 0,
  /** It was asked for rightly, and failed. */
  failed: 1,
  /** It was asked for wrongly: unknown flag, bad value. */
  usage: 2,
  /** The platform wants somebody who is logged in, or somebody else (reference 8.4). */
  unauthorized: 2,
  /** It names no method of a service. */
  malformed: 3,
  /** Nobody answers, or nobody knows the service. */
  unreachable: 4,
  /** The service does not know the method. */
  unknownMethod: 5,
  /** A typed error of a service. */
  refused: 127,
  /** Ctrl-C gave something up that was half done: 128 and the number of SIGINT, as shells have it. */
  interrupted: 130,
} as const

export interface CliErrorOptions extends ErrorOptions {
  /** Of the process. @default failed */
  readonly status?: number
}

/** What a command ends with, in one line. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly status: number

  constructor(message: string, { status = EXIT.failed, cause }: CliErrorOptions = {}) {
    super(message, { cause })
    this.status = status
  }
}

/** An error in the arguments of a command, with a hint at its help. */
export function usageError(command: string, message: string, cause?: unknown): CliError {
  const sentence = /[.?]$/.test(message) ? message : `${message}.`
  return new CliError(`${sentence} See 'mx ${command} --help'`, { status: EXIT.usage, cause })
}

/** But for tabs and line feeds, as the output of a failed build has them. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
const INDENT = '  '
const MIN_TEXT_WIDTH = 30
const MAX_WIDTH = 100

/** Writes problems to standard error, one a line, each with the program's name before it, without what would steer the terminal. */
export function printProblems(problems: readonly string[]): void {
  const lines = problems.map((problem) => `mx: ${problem.replaceAll(CONTROLS, ' ')}\n`)
  process.stderr.write(lines.join(''))
}

/** Ends the program once whoever reads standard output has seen enough, such as `head`; anything else, such as a full disk, is told. */
export function watchOutput(): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit()
    printProblems([`standard output cannot be written: ${message}`])
    process.exit(EXIT.failed)
  })
}

/** Characters of a line of the terminal that standard output is, as `COLUMNS` says, else itself; undefined: it is none. */
export function findWidth(): number | undefined {
  const { isTTY, columns } = process.stdout
  if (!isTTY) return undefined
  return Number(/^[1-9]\d{0,4}$/.exec(process.env['COLUMNS'] ?? '')?.[0] ?? columns) || undefined
}

/**
 * Two columns, the right one wrapped.
 *
 * @param width characters of a line. @default that of the terminal, at most 100
 */
export function formatColumns(
  rows: readonly (readonly [left: string, right: string])[],
  width: number = findWidth() ?? MAX_WIDTH,
): string {
  const leftWidth = Math.max(...rows.map(([left]) => left.length))
  const textWidth = Math.max(
    MIN_TEXT_WIDTH,
    Math.min(width, MAX_WIDTH) - leftWidth - 2 * INDENT.length,
  )
  const margin = `\n${' '.repeat(leftWidth + 2 * INDENT.length)}`
  return rows
    .map(
      ([left, right]) =>
        `${INDENT}${left.padEnd(leftWidth)}${INDENT}${wrap(right, textWidth).join(margin)}`,
    )
    .join('\n')
}

function wrap(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}
