/** Exit statuses of every command. */
export const EXIT = {
  ok: 0,
  failed: 1,
  /** Invalid arguments, such as an unknown flag. */
  usage: 2,
  /** A login or a different account is required (reference 8.4). */
  unauthorized: 2,
  /** Invalid method name. */
  malformed: 3,
  /** Unreachable server, or unknown service. */
  unreachable: 4,
  /** Unknown method of a service. */
  unknownMethod: 5,
  /** A service returned an error. */
  serviceError: 127,
  /** An operation was interrupted with Ctrl-C: 128 plus the number of SIGINT, as in shells. */
  interrupted: 130,
} as const

export interface CliErrorOptions extends ErrorOptions {
  /** Exit status. @default failed */
  readonly status?: number
}

/** Error of a command, with a one-line message. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly status: number

  constructor(message: string, { status = EXIT.failed, cause }: CliErrorOptions = {}) {
    super(message, { cause })
    this.status = status
  }
}

/** Error for invalid arguments, with a reference to the command's help. */
export function usageError(command: string, message: string, cause?: unknown): CliError {
  const sentence = /[.?]$/.test(message) ? message : `${message}.`
  return new CliError(`${sentence} See 'mx ${command} --help'`, { status: EXIT.usage, cause })
}

/** Control characters except tabs and line feeds, which build output contains. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
const INDENT = '  '
const MIN_TEXT_WIDTH = 30
const MAX_WIDTH = 100

/** Prints messages to standard error, one per line, with the prefix `mx: ` and without control characters. */
export function printProblems(problems: readonly string[]): void {
  const lines = problems.map((problem) => `mx: ${problem.replaceAll(CONTROLS, ' ')}\n`)
  process.stderr.write(lines.join(''))
}

/** Exits when the reader of standard output, such as `head`, closes it. Reports other errors, such as a full disk. */
export function watchOutput(): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit()
    printProblems([`standard output cannot be written: ${message}`])
    process.exit(EXIT.failed)
  })
}

/** Width of the terminal at standard output, overridden by `COLUMNS`; undefined if it is not a terminal. */
export function findWidth(): number | undefined {
  const { isTTY, columns } = process.stdout
  if (!isTTY) return undefined
  return Number(/^[1-9]\d{0,4}$/.exec(process.env['COLUMNS'] ?? '')?.[0] ?? columns) || undefined
}

/**
 * Formats two columns and wraps the right one.
 *
 * @param width line width. @default width of the terminal, at most 100
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
