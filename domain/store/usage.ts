import type { StoreChange, StoreGroup, StoreTable } from '../../core/contracts/store.ts'
import type { GatewayError } from '../../core/errors.ts'
import { noQuota, type Quota, quotaReached } from '../../core/limits/quota.ts'
import { formatSize } from '../../lib/text/units.ts'
import { STORE_ID, storeFull } from './errors.ts'

/** Size limits of a namespace: `store` for records and blobs, `config` for its configuration. */
export interface StoreQuotas {
  readonly store: Quota
  readonly config: Quota
}

/**
 * Unit of accounting: the name of a database and the kind of a table, joined with NUL. `reserved`
 * tables (accounts, rules, certificates and runtime objects) have no quota and may use the reserve
 * of a full store.
 */
export type StoreArea = string

/** Current usage and limits for checking a group. */
export interface GroupCheck {
  readonly quotas: StoreQuotas
  readonly usedOf: (area: StoreArea) => number
  /** Stored size of a record. */
  readonly sizeOf: (change: StoreChange) => number
  /**
   * Returns the stored size of the record that a change replaces or deletes; 0 if it does not
   * exist.
   */
  readonly sizeBefore: (change: StoreChange) => number
  /** Whether only the reserve is left. */
  readonly isLow?: boolean
}

export const NO_STORE_QUOTAS: StoreQuotas = {
  store: noQuota('quota_store'),
  config: noQuota('quota_config'),
}

/** Share of the store limit that reserved tables may use in addition to it. */
const RESERVED_SHARE = 1 / 16

/** Approximate overhead of a record in bytes, in addition to its key, value and metadata. */
export const RECORD_OVERHEAD_BYTES = 100

const RESERVED: ReadonlySet<string> = new Set(['acme', 'auth', 'runtime'])
const CONFIG_TABLE = 'config'

/** Cache of the last area, because consecutive writes usually use the same table. */
const last = { database: '', table: '', area: '\0store' }

export function toArea({ database, table }: StoreTable): StoreArea {
  if (database === last.database && table === last.table) return last.area
  const kind = table === CONFIG_TABLE ? 'config' : RESERVED.has(table) ? 'reserved' : 'store'
  last.database = database
  last.table = table
  last.area = `${database}\0${kind}`
  return last.area
}

function mayUseReserve(group: StoreGroup): boolean {
  return group.every((change) => change.mayUseReserve !== false)
}

function isReservedArea(area: StoreArea): boolean {
  return area.endsWith('\0reserved')
}

/**
 * Checks a group against quotas and free space. A group that does not increase the size always
 * passes, because deletions free space.
 *
 * Most groups fit even if replaced records are not subtracted, so that these need not be read.
 */
export function findExcess(group: StoreGroup, check: GroupCheck): GatewayError | undefined {
  const { quotas, usedOf, sizeOf, sizeBefore, isLow = false } = check
  if (!isLow && fits(group, check)) return undefined
  const growth = new Map<StoreArea, number>()
  for (const change of group) {
    const area = toArea(change.table)
    const size = change.value === undefined ? 0 : sizeOf(change)
    growth.set(area, (growth.get(area) ?? 0) + size - sizeBefore(change))
  }
  for (const [area, bytes] of growth) {
    if (bytes <= 0) continue
    if (usedOf(area) + bytes > limitOf(area, quotas)) return toError(area, usedOf(area), quotas)
    if (isLow && !(isReservedArea(area) && mayUseReserve(group)))
      return storeFull(new Error('only reserved space is left'))
  }
  return undefined
}

/**
 * Applies {@link findExcess} to a store with a size limit, which reserved tables may exceed by a
 * sixteenth.
 */
export function findLack(
  group: StoreGroup,
  check: Omit<GroupCheck, 'isLow'>,
  usedBytes: number,
  maxBytes: number,
): GatewayError | undefined {
  if (maxBytes === Number.POSITIVE_INFINITY) return findExcess(group, check)
  let growth = 0
  for (const change of group)
    growth += (change.value === undefined ? 0 : check.sizeOf(change)) - check.sizeBefore(change)
  if (growth > 0 && usedBytes + growth > maxBytes * (1 + RESERVED_SHARE))
    return storeFull(new Error(`records are limited to ${maxBytes} bytes (max_store)`))
  return findExcess(group, { ...check, isLow: usedBytes + growth > maxBytes })
}

/** Returns whether a group is within quotas by its own size. */
function fits(group: StoreGroup, { quotas, usedOf, sizeOf }: GroupCheck): boolean {
  let single: StoreArea | undefined
  let limit = Number.POSITIVE_INFINITY
  let addedBytes = 0
  for (const change of group) {
    if (change.value === undefined) continue
    const area = toArea(change.table)
    if (single === undefined) {
      single = area
      limit = limitOf(area, quotas)
    } else if (area !== single) return false
    if (limit !== Number.POSITIVE_INFINITY) addedBytes += sizeOf(change)
  }
  if (single === undefined || limit === Number.POSITIVE_INFINITY) return true
  return usedOf(single) + addedBytes <= limit
}

function limitOf(area: StoreArea, quotas: StoreQuotas): number {
  const quota = findQuota(area, quotas)
  return quota === undefined ? Number.POSITIVE_INFINITY : quota.limitOf(toNamespace(area))
}

function findQuota(area: StoreArea, { store, config }: StoreQuotas): Quota | undefined {
  if (isReservedArea(area)) return undefined
  return area.endsWith('\0config') ? config : store
}

function toNamespace(area: StoreArea): string {
  return area.slice(0, area.indexOf('\0'))
}

function toError(area: StoreArea, used: number, quotas: StoreQuotas): GatewayError {
  const quota = findQuota(area, quotas)!
  const namespace = toNamespace(area)
  const remedy = quota === quotas.config ? 'make values shorter' : 'delete records or blobs'
  return quotaReached(STORE_ID, 507, quota, {
    ...{ namespace, remedy, used: `${used} bytes` },
    limit: formatSize(quota.limitOf(namespace)),
  })
}
