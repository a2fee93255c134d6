import type { StorePlace } from '../../../core/contracts/store.ts'
import { GatewayError } from '../../../core/errors.ts'
import { storeUnavailable } from '../../../domain/store/errors.ts'
import { toBigintArray, toBytesArray, toTextArray } from './arrays.ts'
import type { Connections, RunStatement } from './client/connections.ts'
import { isPassing } from './errors.ts'
import type { Plan } from './evaluate-conditions.ts'
import { packEvents } from './events.ts'
import type { Statements } from './statements.ts'

/** What to write, worked out from what was read. */
export interface Draft<T> {
  readonly plan: Plan
  /** @param first the version at offset 0. */
  readonly toResult: (first: number) => T
}

/** Attempts of which nobody else is kept waiting, before one that keeps all others out. */
const FREE_ATTEMPTS = 2
const ATTEMPTS = 4

/**
 * Reads, works out what to write, and writes it, as if nothing could happen in between: when something did, it begins anew. In the end
 * nobody else may write meanwhile, so that the attempts have one.
 */
export async function writeAlone<T>(
  connections: Connections,
  statements: Statements,
  draft: (ask: RunStatement) => Promise<Draft<T>>,
): Promise<T> {
  const { ask, transact } = connections

  async function attempt(on: RunStatement): Promise<{ readonly result: T } | undefined> {
    const { plan, toResult } = await draft(on)
    if (plan.puts.length === 0 && plan.deletes.length === 0) return { result: toResult(0) }
    const [row] = await on(statements.write, toValues(plan))
    const first = row?.[0]
    return first == null ? undefined : { result: toResult(Number(first)) }
  }

  for (let tried = 1; ; tried++) {
    try {
      const written =
        tried <= FREE_ATTEMPTS
          ? await attempt(ask)
          : await transact(async (on) => {
              await on(statements.lock, [])
              return attempt(on)
            })
      if (written !== undefined) return written.result
      if (tried >= ATTEMPTS)
        throw storeUnavailable(new Error('records changed while they were locked'))
    } catch (error) {
      const cause = error instanceof GatewayError ? error.cause : error
      if (!isPassing(cause) || tried >= ATTEMPTS) throw error
    }
  }
}

/** Places as three arrays: databases, tables, keys. */
export function toPlaces(places: readonly StorePlace[]): Buffer[] {
  return [
    toTextArray(places.map(({ table }) => table.database)),
    toTextArray(places.map(({ table }) => table.table)),
    toTextArray(places.map(({ key }) => key)),
  ]
}

function toValues({ checks, puts, deletes, events, versions }: Plan): unknown[] {
  return [
    ...toPlaces(checks.map(({ place }) => place)),
    toBigintArray(checks.map(({ version }) => version)),
    ...toPlaces(puts.map(({ change }) => change)),
    toBytesArray(puts.map(({ change }) => change.value!)),
    toTextArray(puts.map(({ change }) => JSON.stringify(change.metadata))),
    toBigintArray(puts.map(({ change }) => change.expiresMs)),
    toBigintArray(puts.map(({ offset }) => offset)),
    ...toPlaces(deletes),
    toTextArray(packEvents(events)),
    versions,
  ]
}
