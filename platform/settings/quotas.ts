import { createQuota, type Quota } from '../../core/limits/quota.ts'
import type { StoreQuotas } from '../../domain/store/usage.ts'
import type { QuotaSettings } from './table/quotas.ts'
import type { StateSettings } from './table/state.ts'

/** `max_store` of a store in memory, with `auto`. */
const MEMORY_STORE_BYTES = 256 * 1024 ** 2
/** `auto` is `bytes`, and at most `share` of the capacity. */
const AUTO = {
  store: { bytes: 1024 ** 3, share: 1 / 2 },
  config: { bytes: 64 * 1024 ** 2, share: 1 / 4 },
  events: { bytes: 4 * 1024 ** 3, share: 1 / 2 },
} as const

type StoreSize = Pick<StateSettings, 'store' | 'maxStoreBytes'>

/** Size limit of the records of a store, bytes; `lmdb` is limited by the disk only. */
export function toMaxStoreBytes({ store, maxStoreBytes }: StoreSize): number {
  if (store === 'lmdb') return Number.POSITIVE_INFINITY
  if (maxStoreBytes !== 'auto') return maxStoreBytes
  return store === 'memory' ? MEMORY_STORE_BYTES : Number.POSITIVE_INFINITY
}

/** Quotas of the store. `auto` leaves space for other namespaces in a store with a limit. */
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

/** @param capacity bytes; `Infinity`: limited by the disk only. */
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
