import { inspect } from 'node:util'
import { type CliError, EXIT } from './output.ts'

/** Result of a failed command. */
export interface Failure {
  /** Exit status. */
  readonly status: number
  /** Messages, one per line. */
  readonly problems: readonly string[]
}

/** Statuses of errors whose message contains the service name. */
const NAMED: readonly number[] = [EXIT.unreachable, EXIT.unknownMethod]

export function explainError(error: Error): Failure {
  // A worker process has already printed its error.
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

/**
 * Id of an error returned by a service (specification: Error response body); undefined if the message contains it, or
 * for other errors.
 */
function findId(error: Error): string | undefined {
  if (isCliError(error) && NAMED.includes(error.status)) return undefined
  let { cause } = error
  while (cause instanceof Error && !('id' in cause)) cause = cause.cause
  return cause instanceof Error && 'id' in cause ? String(cause.id) : undefined
}

/** Compares the name, because the bundle and the commands outside it have separate classes. */
function isCliError(error: Error): error is CliError {
  return error.name === 'CliError' && 'status' in error
}

/** Stack and causes, for debugging. */
function toStack(error: Error): readonly string[] {
  return process.env['MX_DEBUG'] ? [inspect(error)] : []
}
