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
import { toKeyArrays } from './write.ts'

/**
 * Enforces the quotas of namespaces and the size limit of a store to which other servers also
 * write.
 */
export interface QuotaCheck {
  /**
   * Returns an error for each group that exceeds a quota. Accepted groups are counted immediately.
   */
  readonly check: (groups: readonly StoreGroup[]) => Promise<readonly (GatewayError | undefined)[]>
}

export interface QuotaCheckOptions {
  readonly quotas: StoreQuotas
  /** See `PostgresStoreOptions`. */
  readonly maxBytes: number
  readonly statements: Pick<Statements, 'usage' | 'used' | 'sizes'>
  readonly query: RunStatement
  /** @default the monotonic clock */
  readonly nowMs?: () => number
}

/** Maximum age of the cached usage. Writes by other servers within this time may exceed a quota. */
const FRESH_MS = 1000

export function createQuotaCheck(options: QuotaCheckOptions): QuotaCheck {
  const { quotas, maxBytes, statements, query, nowMs = () => performance.now() } = options
  const hasLimit = maxBytes !== Number.POSITIVE_INFINITY
  /** Usage at the last read, plus this process's writes since then. */
  const usage = new Map<StoreArea, number>()
  /** Total of all areas; 0 if there is no limit. */
  let usedBytes = 0
  let readMs = Number.NEGATIVE_INFINITY

  const estimate: GroupCheck = {
    quotas,
    usedOf: (area) => usage.get(area) ?? 0,
    sizeOf,
    sizeBefore: () => 0,
  }

  function checkAll(groups: readonly StoreGroup[], check: GroupCheck) {
    const growthByArea = new Map<StoreArea, number>()
    let grownBytes = 0
    const usedOf = (area: StoreArea): number => check.usedOf(area) + (growthByArea.get(area) ?? 0)
    const excesses = groups.map((group) => {
      const excess = findLack(group, { ...check, usedOf }, usedBytes + grownBytes, maxBytes)
      if (excess !== undefined) return excess
      for (const change of group) {
        const area = toArea(change.table)
        const size = change.value === undefined ? 0 : sizeOf(change)
        const growth = size - check.sizeBefore(change)
        growthByArea.set(area, (growthByArea.get(area) ?? 0) + growth)
        grownBytes += growth
      }
      return undefined
    })
    return { excesses, growthByArea }
  }

  function count(growthByArea: ReadonlyMap<StoreArea, number>): void {
    for (const [area, bytes] of growthByArea) {
      usage.set(area, (usage.get(area) ?? 0) + bytes)
      usedBytes += bytes
    }
  }

  async function readUsage(databases: readonly string[]): Promise<void> {
    for (const [database, kind, bytes] of await query(statements.usage, [toTextArray(databases)]))
      usage.set(`${database}\0${kind}`, Number(bytes))
    if (hasLimit) usedBytes = Number((await query(statements.used, []))[0]![0])
    readMs = nowMs()
  }

  async function readSizes(groups: readonly StoreGroup[]): Promise<GroupCheck['sizeBefore']> {
    const changes = groups.flat()
    const sizes = new Map<string, number>()
    for (const [place, size] of await query(statements.sizes, toKeyArrays(changes)))
      sizes.set(toName(changes[Number(place) - 1]!), Number(size))
    return (change) => sizes.get(toName(change)) ?? 0
  }

  return {
    async check(groups) {
      const databases = listLimited(groups, quotas)
      if (databases.length === 0 && !hasLimit) return groups.map(() => undefined)
      if (
        nowMs() - readMs >= FRESH_MS ||
        databases.some((database) => !usage.has(`${database}\0store`))
      ) {
        usage.clear()
        await readUsage(databases)
        for (const database of databases)
          if (!usage.has(`${database}\0store`)) usage.set(`${database}\0store`, 0)
      }
      const first = checkAll(groups, estimate)
      if (first.excesses.every((excess) => excess === undefined)) {
        count(first.growthByArea)
        return first.excesses
      }
      // Usage and sizes are read exactly when usage is close to a quota.
      await readUsage(databases)
      const { excesses, growthByArea } = checkAll(groups, {
        ...estimate,
        sizeBefore: await readSizes(groups),
      })
      count(growthByArea)
      return excesses
    },
  }
}

/** Returns the databases in the groups that have a quota. */
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

/** Returns the same size as `size_of` in schema.ts. */
function sizeOf({ key, value, metadata }: StoreChange): number {
  const json = Buffer.byteLength(JSON.stringify(metadata))
  return RECORD_OVERHEAD_BYTES + Buffer.byteLength(key) + value!.length + json
}
