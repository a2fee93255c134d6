import type {
  StoreChange,
  StoreEvent,
  StoreGroup,
  StoreOutcome,
  StorePlace,
} from '../../../core/contracts/store.ts'
import { GatewayError } from '../../../core/errors.ts'

/** What is there under a key. */
export interface Known {
  readonly version: number
  readonly expiresMs: number
}

/** What to write, provided that what was read is still there. */
export interface Plan {
  readonly checks: readonly { readonly place: StorePlace; readonly version: number }[]
  readonly puts: readonly { readonly change: StoreChange; readonly offset: number }[]
  readonly deletes: readonly StorePlace[]
  readonly events: readonly StoreEvent[]
  /** How many versions it takes: those of puts are the first one and their offset. */
  readonly versions: number
}

export interface Decision {
  readonly plan: Plan
  /** @param first the version at offset 0. */
  readonly toOutcomes: (first: number) => readonly StoreOutcome[]
}

/** Name of a key among all; none of its parts has a NUL. */
function toName({ table: { database, table }, key }: StorePlace): string {
  return `${database}\0${table}\0${key}`
}

/** The keys, by name, what becomes of the groups depends on: those with conditions, and those of deletions, which say what was there. */
export function evaluateConditions(groups: readonly StoreGroup[]): Map<string, StorePlace> {
  const decisive = new Map<string, StorePlace>()
  for (const group of groups) {
    for (const change of group) {
      if (change.ifVersion === undefined && change.value !== undefined) continue
      decisive.set(toName(change), { table: change.table, key: change.key })
    }
  }
  return decisive
}

/**
 * Works out what becomes of groups, one after the other, without writing anything.
 *
 * @param known of those of `findDecisive`, by name, what is there.
 */
export function decide(
  groups: readonly StoreGroup[],
  decisive: ReadonlyMap<string, StorePlace>,
  known: ReadonlyMap<string, Known>,
  nowMs: number,
): Decision {
  /** What is there meanwhile. A version below 0 is one of this plan: -1 is offset 0. */
  const state = new Map<string, Known | undefined>(known)
  /** The last change of each key. */
  const last = new Map<string, { readonly change: StoreChange; readonly offset: number }>()
  const events: StoreEvent[] = []
  let versions = 0

  /** To a condition, what has expired is none. */
  const versionOf = (name: string): number => {
    const found = state.get(name)
    if (found === undefined) return 0
    return found.expiresMs > 0 && found.expiresMs <= nowMs ? 0 : found.version
  }

  function apply(change: StoreChange): number {
    const { table, key, value, expiresMs } = change
    const name = toName(change)
    if (value === undefined) {
      const before = state.get(name)
      state.set(name, undefined)
      last.set(name, { change, offset: 0 })
      if (before === undefined) return 0
      events.push({ type: 'delete', table, key })
      return before.version
    }
    const offset = versions++
    events.push({ type: 'write', table, key })
    state.set(name, { version: -1 - offset, expiresMs })
    last.set(name, { change, offset })
    return -1 - offset
  }

  const outcomes = groups.map((group): StoreOutcome => {
    for (const [index, change] of group.entries()) {
      if (change.ifVersion === undefined) continue
      const version = versionOf(toName(change))
      if (version !== change.ifVersion) return { index, version }
    }
    return group.map(apply)
  })

  const puts = [...last.values()].filter(({ change }) => change.value !== undefined)
  const deletes = [...last].filter(([name, { change }]) => {
    return change.value === undefined && known.has(name)
  })
  const checks = [...decisive].map(([name, place]) => ({
    place,
    version: known.get(name)?.version ?? 0,
  }))
  return {
    plan: { checks, puts, deletes: deletes.map(([, { change }]) => change), events, versions },
    toOutcomes(first) {
      const toVersion = (version: number): number => (version < 0 ? first - 1 - version : version)
      return outcomes.map((outcome) =>
        outcome instanceof GatewayError
          ? outcome
          : 'index' in outcome
            ? { index: outcome.index, version: toVersion(outcome.version) }
            : outcome.map(toVersion),
      )
    },
  }
}
