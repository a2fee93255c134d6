import { inspect } from 'node:util'
import { type CliError, EXIT } from './output.ts'

/** How a command ended that failed. */
export interface Failure {
  /** Of the process. */
  readonly status: number
  /** One a line. */
  readonly problems: readonly string[]
}

/** Statuses of errors that name the service, or are nobody's. */
const TOLD: readonly number[] = [EXIT.unreachable, EXIT.unknownMethod]

export function explainError(error: Error): Failure {
  // A worker process has told what is wrong, and how it ends.
  if (error.name === 'WorkerStartError' && 'status' in error)
    return { status: Number(error.status), problems: [] }
  const isUsage = error.name === 'SettingsError'
  return {
    status: isCliError(error) ? error.status : isUsage ? EXIT.usage : EXIT.failed,
    problems: [...toProblems(error), ...toStack(error)],
  }
}

function toProblems(error: Error): readonly string[] {
  if ('problems' in error) return error.problems as readonly string[]
  const id = findId(error)
  return [id === undefined ? error.message : `${error.message} (Id ${id})`]
}

/** Of the error a service answered with (specification: Error response body); undefined: it is told, or none did. */
function findId(error: Error): string | undefined {
  if (isCliError(error) && TOLD.includes(error.status)) return undefined
  let { cause } = error
  while (cause instanceof Error && !('id' in cause)) cause = cause.cause
  return cause instanceof Error && 'id' in cause ? String(cause.id) : undefined
}

/** By its name: the bundle and the commands apart from it have a class each. */
function isCliError(error: Error): error is CliError {
  return error.name === 'CliError' && 'status' in error
}

/** Where it came from, and what from, for whoever looks for a defect. */
function toStack(error: Error): readonly string[] {
  return process.env['MX_DEBUG'] ? [inspect(error)] : []
}
