import { formatDuration } from '../../../lib/text/units.ts'
import { timeout } from '../../../sdk/errors.ts'
import type { Work } from './run-command.ts'

const ID = 'runtime'

/**
 * Does work that must end in time.
 *
 * @param what the work, as the error names it.
 * @throws {ServiceError} 408 when it took longer, whatever it failed with then.
 */
export async function withDeadline<T>(
  what: string,
  defaultMs: number,
  { signal, timeoutMs = defaultMs }: Pick<Work, 'signal' | 'timeoutMs'>,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = AbortSignal.timeout(timeoutMs)
  try {
    return await run(AbortSignal.any([signal, late]))
  } catch (error) {
    if (signal.aborted || !late.aborted) throw error
    throw timeout(ID, `${what} took longer than ${formatDuration(timeoutMs)}`, { cause: error })
  }
}
