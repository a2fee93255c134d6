import { createQuota, type Quota } from '../../core/limits/quota.ts'
import type { StoreQuotas } from '../../domain/store/usage.ts'
import type { QuotaSettings } from './table/quotas.ts'
import type { StateSettings } from './table/state.ts'

/** `max_store` of an in-memory store if the setting is `auto`. */
const MEMORY_STORE_BYTES = 256 * 1024 ** 2
/** `auto` means `bytes`, but at most `share` of the capacity. */
const AUTO = {
  store: { bytes: 1024 ** 3, share: 1 / 2 },
  config: { bytes: 64 * 1024 ** 2, share: 1 / 4 },
  events: { bytes: 4 * 1024 ** 3, share: 1 / 2 },
} as const

type StoreSize = Pick<StateSettings, 'store' | 'maxStoreBytes'>

/**
 * Returns the size limit of the records in a store in bytes. `lmdb` is limited only by the disk.
 */
export function toMaxStoreBytes({ store, maxStoreBytes }: StoreSize): number {
  if (store === 'lmdb') return Number.POSITIVE_INFINITY
  if (maxStoreBytes !== 'auto') return maxStoreBytes
  return store === 'memory' ? MEMORY_STORE_BYTES : Number.POSITIVE_INFINITY
}

/**
 * Returns the quotas of the store. In a store with a limit, `auto` leaves space for other
 * namespaces.
 */
export function toStoreQuotas({
  quotaStore,
  quotaConfig,
  ...size
}: Pick<QuotaSettings, 'quotaStore' | 'quotaConfig'> & StoreSize): StoreQuotas {
  const capacity = toMaxStoreBytes(size)
  return {
    store: createQuota('quota_store', quotaStore, toAuto('store', capacity)),
    config: createQuota('quota_config', quotaConfig, toAuto('config', capacity)),
  }
}

/** @param capacity bytes; `Infinity` if limited only by the disk. */
export function toEventsQuota(
  { quotaEvents }: Pick<QuotaSettings, 'quotaEvents'>,
  capacity: number,
): Quota {
  return createQuota('quota_events', quotaEvents, toAuto('events', capacity))
}

function toAuto(subject: keyof typeof AUTO, capacity: number): number {
  const { bytes, share } = AUTO[subject]
  return Math.min(bytes, Math.floor(capacity * share))
}
