import type {
  StoreChange,
  StoreEvent,
  StoreGroup,
  StoreKey,
  StoreOutcome,
} from '../../../core/contracts/store.ts'
import { GatewayError } from '../../../core/errors.ts'

/** Stored state of a key. */
export interface StoredVersion {
  readonly version: number
  readonly expiresMs: number
}

/** Planned writes, conditional on the versions that were read. */
export interface Plan {
  readonly checks: readonly { readonly place: StoreKey; readonly version: number }[]
  readonly puts: readonly { readonly change: StoreChange; readonly offset: number }[]
  readonly deletes: readonly StoreKey[]
  readonly events: readonly StoreEvent[]
  /** Number of new versions. The version of a put is the first one plus its offset. */
  readonly versions: number
}

export interface Decision {
  readonly plan: Plan
  /** @param first the version at offset 0. */
  readonly toOutcomes: (first: number) => readonly StoreOutcome[]
}

/** Returns the unique name of a key. Its parts contain no NUL. */
function toName({ table: { database, table }, key }: StoreKey): string {
  return `${database}\0${table}\0${key}`
}

/**
 * Returns the keys that determine the outcome, by name: keys with conditions, and deleted keys,
 * whose version is returned.
 */
export function evaluateConditions(groups: readonly StoreGroup[]): Map<string, StoreKey> {
  const decisive = new Map<string, StoreKey>()
  for (const group of groups) {
    for (const change of group) {
      if (change.ifVersion === undefined && change.value !== undefined) continue
      decisive.set(toName(change), { table: change.table, key: change.key })
    }
  }
  return decisive
}

/**
 * Computes the outcome of groups in order, without writing.
 *
 * @param stored state of the relevant keys by name.
 */
export function decide(
  groups: readonly StoreGroup[],
  decisive: ReadonlyMap<string, StoreKey>,
  stored: ReadonlyMap<string, StoredVersion>,
  nowMs: number,
): Decision {
  /** Planned state. A negative version is new; -1 means offset 0. */
  const state = new Map<string, StoredVersion | undefined>(stored)
  /** Last change of each key. */
  const last = new Map<string, { readonly change: StoreChange; readonly offset: number }>()
  const events: StoreEvent[] = []
  let versions = 0

  /** An expired record counts as absent. */
  const versionOf = (name: string): number => {
    const found = state.get(name)
    if (found === undefined) return 0
    return found.expiresMs > 0 && found.expiresMs <= nowMs ? 0 : found.version
  }

  function apply(change: StoreChange): number {
    const { table, key, value, expiresMs } = change
    const name = toName(change)
    if (value === undefined) {
      const previous = state.get(name)
      state.set(name, undefined)
      last.set(name, { change, offset: 0 })
      if (previous === undefined) return 0
      events.push({ type: 'delete', table, key })
      return previous.version
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
    return change.value === undefined && stored.has(name)
  })
  const checks = [...decisive].map(([name, place]) => ({
    place,
    version: stored.get(name)?.version ?? 0,
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
