import type { StoreChange, StoreGroup } from '../../../core/contracts/store.ts'
import type { GatewayError } from '../../../core/errors.ts'
import {
  findLack,
  type GroupCheck,
  RECORD_OVERHEAD_BYTES,
  type StoreArea,
  type StoreQuotas,
  toArea,
} from '../../../domain/store/usage.ts'
import { toTextArray } from './arrays.ts'
import type { RunStatement } from './client/connections.ts'
import type { Statements } from './statements.ts'
import { toPlaces } from './write.ts'

/** Keeps namespaces within their quotas, and all of them within the limit of the store, which other servers write to as well. */
export interface QuotaCheck {
  /** Why groups exceed a quota; undefined: one does not. What does not is counted at once. */
  readonly check: (groups: readonly StoreGroup[]) => Promise<readonly (GatewayError | undefined)[]>
}

export interface QuotaCheckOptions {
  readonly quotas: StoreQuotas
  /** As `PostgresStoreOptions` has it. */
  readonly maxBytes: number
  readonly statements: Pick<Statements, 'usage' | 'used' | 'sizes'>
  readonly ask: RunStatement
  /** @default the monotonic clock */
  readonly nowMs?: () => number
}

/** How long what is known of other servers' writes is used: they may exceed a quota by what they write meanwhile. */
const FRESH_MS = 1000

export function createQuotaCheck(options: QuotaCheckOptions): QuotaCheck {
  const { quotas, maxBytes, statements, ask, nowMs = () => performance.now() } = options
  const hasLimit = maxBytes !== Number.POSITIVE_INFINITY
  /** Bytes at the last look, and of what was written here since. */
  const usage = new Map<StoreArea, number>()
  /** The same, of all areas; 0 without a limit. */
  let usedBytes = 0
  let seenMs = Number.NEGATIVE_INFINITY

  const fast: GroupCheck = {
    quotas,
    usedOf: (area) => usage.get(area) ?? 0,
    sizeOf,
    sizeBefore: () => 0,
  }

  function checkAll(groups: readonly StoreGroup[], check: GroupCheck) {
    const grown = new Map<StoreArea, number>()
    let grownBytes = 0
    const usedOf = (area: StoreArea): number => check.usedOf(area) + (grown.get(area) ?? 0)
    const excesses = groups.map((group) => {
      const excess = findLack(group, { ...check, usedOf }, usedBytes + grownBytes, maxBytes)
      if (excess !== undefined) return excess
      for (const change of group) {
        const area = toArea(change.table)
        const size = change.value === undefined ? 0 : sizeOf(change)
        const growth = size - check.sizeBefore(change)
        grown.set(area, (grown.get(area) ?? 0) + growth)
        grownBytes += growth
      }
      return undefined
    })
    return { excesses, grown }
  }

  function count(grown: ReadonlyMap<StoreArea, number>): void {
    for (const [area, bytes] of grown) {
      usage.set(area, (usage.get(area) ?? 0) + bytes)
      usedBytes += bytes
    }
  }

  async function look(databases: readonly string[]): Promise<void> {
    for (const [database, kind, bytes] of await ask(statements.usage, [toTextArray(databases)]))
      usage.set(`${database}\0${kind}`, Number(bytes))
    if (hasLimit) usedBytes = Number((await ask(statements.used, []))[0]![0])
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
      if (databases.length === 0 && !hasLimit) return groups.map(() => undefined)
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
