import type { StoreKey } from '../../../core/contracts/store.ts'
import { GatewayError } from '../../../core/errors.ts'
import { storeUnavailable } from '../../../domain/store/errors.ts'
import { toBigintArray, toBytesArray, toTextArray } from './arrays.ts'
import type { Connections, RunStatement } from './client/connections.ts'
import { isRetryable } from './errors.ts'
import type { Plan } from './evaluate-conditions.ts'
import { packEvents } from './events.ts'
import type { Statements } from './statements.ts'

/** Writes computed from the values that were read. */
export interface Draft<T> {
  readonly plan: Plan
  /** @param first the version at offset 0. */
  readonly toResult: (first: number) => T
}

/** Number of optimistic attempts before locking. */
const OPTIMISTIC_ATTEMPTS = 2
const ATTEMPTS = 4

/**
 * Reads, computes and writes with optimistic concurrency. Retries if the records changed in
 * between. The last attempts lock out other writers.
 */
export async function writeAtomically<T>(
  connections: Connections,
  statements: Statements,
  draft: (query: RunStatement) => Promise<Draft<T>>,
): Promise<T> {
  const { runStatement, transact } = connections

  async function attempt(run: RunStatement): Promise<{ readonly result: T } | undefined> {
    const { plan, toResult } = await draft(run)
    if (plan.puts.length === 0 && plan.deletes.length === 0) return { result: toResult(0) }
    const [row] = await run(statements.write, toValues(plan))
    const first = row?.[0]
    return first == null ? undefined : { result: toResult(Number(first)) }
  }

  for (let attempts = 1; ; attempts++) {
    try {
      const written =
        attempts <= OPTIMISTIC_ATTEMPTS
          ? await attempt(runStatement)
          : await transact(async (run) => {
              await run(statements.lock, [])
              return attempt(run)
            })
      if (written !== undefined) return written.result
      if (attempts >= ATTEMPTS)
        throw storeUnavailable(new Error('records changed while they were locked'))
    } catch (error) {
      const cause = error instanceof GatewayError ? error.cause : error
      if (!isRetryable(cause) || attempts >= ATTEMPTS) throw error
    }
  }
}

/** Converts keys to three arrays: databases, tables, keys. */
export function toKeyArrays(keys: readonly StoreKey[]): Buffer[] {
  return [
    toTextArray(keys.map(({ table }) => table.database)),
    toTextArray(keys.map(({ table }) => table.table)),
    toTextArray(keys.map(({ key }) => key)),
  ]
}

function toValues({ checks, puts, deletes, events, versions }: Plan): unknown[] {
  return [
    ...toKeyArrays(checks.map(({ place }) => place)),
    toBigintArray(checks.map(({ version }) => version)),
    ...toKeyArrays(puts.map(({ change }) => change)),
    toBytesArray(puts.map(({ change }) => change.value!)),
    toTextArray(puts.map(({ change }) => JSON.stringify(change.metadata))),
    toBigintArray(puts.map(({ change }) => change.expiresMs)),
    toBigintArray(puts.map(({ offset }) => offset)),
    ...toKeyArrays(deletes),
    toTextArray(packEvents(events)),
    versions,
  ]
}
