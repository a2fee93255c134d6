import { formatDuration } from '../../../lib/text/units.ts'
import { timeout } from '../../../sdk/errors.ts'
import type { Work } from './run-command.ts'

const ID = 'runtime'

/**
 * Runs work with a timeout.
 *
 * @param name name of the work in the error message.
 * @throws {ServiceError} 408 on timeout, regardless of the error of the work.
 */
export async function withDeadline<T>(
  name: string,
  defaultMs: number,
  { signal, timeoutMs = defaultMs }: Pick<Work, 'signal' | 'timeoutMs'>,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = AbortSignal.timeout(timeoutMs)
  try {
    return await run(AbortSignal.any([signal, deadline]))
  } catch (error) {
    if (signal.aborted || !deadline.aborted) throw error
    throw timeout(ID, `${name} timed out after ${formatDuration(timeoutMs)}`, { cause: error })
  }
}
