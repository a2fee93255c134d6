import type { StoreChange, StoreGroup } from '../../../core/contracts/store.ts'
import type { GatewayError } from '../../../core/errors.ts'
import {
  findExcess,
  type GroupCheck,
  RECORD_OVERHEAD_BYTES,
  type StoreArea,
  type StoreQuotas,
  toArea,
} from '../../../core/store/usage.ts'
import { toTextArray } from './arrays.ts'
import type { Ask } from './connections.ts'
import type { Statements } from './statements.ts'
import { toPlaces } from './write.ts'

/** Keeps namespaces within their quotas, which other servers write to as well. */
export interface QuotaCheck {
  /** Why groups exceed a quota; undefined: one does not. What does not is counted at once. */
  readonly check: (groups: readonly StoreGroup[]) => Promise<readonly (GatewayError | undefined)[]>
}

/** How long what is known of other servers' writes is used: they may exceed a quota by what they write meanwhile. */
const FRESH_MS = 1000

export function createQuotaCheck(
  quotas: StoreQuotas,
  statements: Pick<Statements, 'usage' | 'sizes'>,
  ask: Ask,
  nowMs: () => number = () => performance.now(),
): QuotaCheck {
  /** Bytes at the last look, and of what was written here since. */
  const usage = new Map<StoreArea, number>()
  let seenMs = Number.NEGATIVE_INFINITY

  const fast: GroupCheck = {
    quotas,
    usedOf: (area) => usage.get(area) ?? 0,
    sizeOf,
    sizeBefore: () => 0,
  }

  function checkAll(groups: readonly StoreGroup[], check: GroupCheck) {
    const grown = new Map<StoreArea, number>()
    const usedOf = (area: StoreArea): number => check.usedOf(area) + (grown.get(area) ?? 0)
    const excesses = groups.map((group) => {
      const excess = findExcess(group, { ...check, usedOf })
      if (excess !== undefined) return excess
      for (const change of group) {
        const area = toArea(change.table)
        const size = change.value === undefined ? 0 : sizeOf(change)
        grown.set(area, usedOf(area) - check.usedOf(area) + size - check.sizeBefore(change))
      }
      return undefined
    })
    return { excesses, grown }
  }

  function count(grown: ReadonlyMap<StoreArea, number>): void {
    for (const [area, bytes] of grown) usage.set(area, (usage.get(area) ?? 0) + bytes)
  }

  async function look(databases: readonly string[]): Promise<void> {
    for (const [database, kind, bytes] of await ask(statements.usage, [toTextArray(databases)]))
      usage.set(`${database}\0${kind}`, Number(bytes))
    seenMs = nowMs()
  }

  async function readSizes(groups: readonly StoreGroup[]): Promise<GroupCheck['sizeBefore']> {
    const changes = groups.flat()
    const sizes = new Map<string, number>()
    for (const [place, size] of await ask(statements.sizes, toPlaces(changes)))
      sizes.set(toName(changes[Number(place) - 1]!), Number(size))
    return (change) => sizes.get(toName(change)) ?? 0
  }

  return {
    async check(groups) {
      const databases = listLimited(groups, quotas)
      if (databases.length === 0) return groups.map(() => undefined)
      if (nowMs() - seenMs >= FRESH_MS || databases.some((one) => !usage.has(`${one}\0store`))) {
        usage.clear()
        await look(databases)
        for (const one of databases) if (!usage.has(`${one}\0store`)) usage.set(`${one}\0store`, 0)
      }
      const first = checkAll(groups, fast)
      if (first.excesses.every((excess) => excess === undefined)) {
        count(first.grown)
        return first.excesses
      }
      // Near a quota: exactly.
      await look(databases)
      const { excesses, grown } = checkAll(groups, { ...fast, sizeBefore: await readSizes(groups) })
      count(grown)
      return excesses
    },
  }
}

/** Databases of groups that have a quota. */
function listLimited(groups: readonly StoreGroup[], { store, config }: StoreQuotas): string[] {
  const databases = new Set<string>()
  for (const group of groups)
    for (const { table } of group) {
      const { database } = table
      if (databases.has(database)) continue
      const limit = Math.min(store.limitOf(database), config.limitOf(database))
      if (limit !== Number.POSITIVE_INFINITY) databases.add(database)
    }
  return [...databases]
}

function toName({ table: { database, table }, key }: StoreChange): string {
  return `${database}\0${table}\0${key}`
}

/** As `size_of` of schema.ts. */
function sizeOf({ key, value, metadata }: StoreChange): number {
  const json = Buffer.byteLength(JSON.stringify(metadata))
  return RECORD_OVERHEAD_BYTES + Buffer.byteLength(key) + value!.length + json
}
