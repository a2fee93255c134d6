import { inspect } from 'node:util'
import { type CliError, EXIT } from './output.ts'

/** How a command ended that failed. */
export interface Failure {
  /** Of the process. */
  readonly status: number
  /** One a line. */
  readonly problems: readonly string[]
}

/** @param command that failed; empty: none was found. */
export function explainError(error: Error, command: string): Failure {
  // A worker process has told what is wrong, and how it ends.
  if (error.name === 'WorkerStartError' && 'status' in error)
    return { status: Number(error.status), problems: [] }
  const isUsage = error.name === 'CACError' || error.name === 'SettingsError'
  return {
    status: isCliError(error) ? error.status : isUsage ? EXIT.usage : EXIT.failed,
    problems: [...toProblems(error, command), ...toStack(error)],
  }
}

function toProblems(error: Error, command: string): readonly string[] {
  if ('problems' in error) return error.problems as readonly string[]
  const { name, message } = error
  return [
    name === 'CACError'
      ? `${message.replaceAll('`', '')}. See 'mx ${`${command} --help`.trim()}'`
      : message,
  ]
}

/** By its name: the bundle and the commands apart from it have a class each. */
function isCliError(error: Error): error is CliError {
  return error.name === 'CliError' && 'status' in error
}

/** Where it came from, and what from, for whoever looks for a defect. */
function toStack(error: Error): readonly string[] {
  return process.env['MX_DEBUG'] ? [inspect(error)] : []
}
