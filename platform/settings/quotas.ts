import { createQuota, type Quota, type QuotaLimits } from '../../core/limits/quota.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import type { StoreQuotas } from '../../domain/store/usage.ts'
import { parseCount, parseLimit, parseLimitOrAuto } from './values.ts'

/** What a namespace may use: a limit, and others for some by name. */
export interface QuotaSettings {
  /** Bytes of records and blobs. */
  readonly quotaStore: QuotaLimits
  /** Bytes of configuration, with its history. */
  readonly quotaConfig: QuotaLimits
  /** Bytes of events. */
  readonly quotaEvents: QuotaLimits
  /** Accounts that administrators of the namespace create. */
  readonly quotaAccounts: QuotaLimits
  /** Rules that administrators of the namespace create. */
  readonly quotaRules: QuotaLimits
  /** Nodes in the registry. */
  readonly quotaRegistrations: QuotaLimits
  /** Runtime objects. */
  readonly quotaPrograms: QuotaLimits
  /** Builds in progress or waiting. */
  readonly quotaBuilds: QuotaLimits
  /** Uploads in progress, or waiting to be run. */
  readonly quotaUploads: QuotaLimits
}

/** What all rows have in common. */
const ROW = { kind: 'list', splitFlag: true, only: 'server', live: false } as const
const MAX_COUNT = 999_999_999
const parseNumber = parseCount(0, MAX_COUNT, ', or none')

/** As rows of `settings.ts` are. */
interface QuotaRow {
  readonly name: string
  readonly kind: 'list'
  readonly form: string
  readonly description: string
  readonly default: string
  readonly splitFlag: true
  readonly only: 'server'
  readonly live: false
  readonly parse: (texts: readonly string[]) => QuotaLimits
}

/** Rows of the table of settings. Namespace `mx`, the operators', has no quota unless it is named. */
export const QUOTA_SETTINGS: { readonly [K in keyof QuotaSettings]: QuotaRow } = {
  quotaStore: toBytesRow('quota_store', 'records and blobs', 'writes beyond it are 507'),
  quotaConfig: toBytesRow(
    'quota_config',
    'configuration and its history',
    'changes beyond it are 507',
  ),
  quotaEvents: toBytesRow('quota_events', 'events', 'publishing beyond it is 507'),
  quotaAccounts: toCountRow('quota_accounts', '1000', 'Accounts'),
  quotaRules: toCountRow('quota_rules', '1000', 'Rules'),
  quotaRegistrations: toCountRow('quota_registrations', '10000', 'Nodes in the registry'),
  quotaPrograms: toCountRow('quota_programs', '100', 'Programs of the runtime'),
  quotaBuilds: toCountRow('quota_builds', '20', 'Builds in progress or waiting'),
  quotaUploads: toCountRow('quota_uploads', '20', 'Uploads in progress, or waiting to be run'),
}

/** `max_store` of a store in memory, with `auto`. */
const MEMORY_STORE_BYTES = 256 * 1024 ** 2
/** Limits of `auto`, bytes: where there is room for many namespaces, and the share of a memory they have together. */
const AUTO = {
  store: { bytes: 1024 ** 3, share: 1 / 2 },
  config: { bytes: 64 * 1024 ** 2, share: 1 / 4 },
  events: { bytes: 4 * 1024 ** 3, share: 1 / 2 },
} as const

/** The store, and the most that its records may take. */
interface StoreSize {
  readonly store: string
  readonly maxStoreBytes: number | 'auto'
}

/** What records of a store may take; `lmdb` uses what the disk has. */
export function toMaxStoreBytes({ store, maxStoreBytes }: StoreSize): number {
  if (store === 'lmdb') return Number.POSITIVE_INFINITY
  if (maxStoreBytes !== 'auto') return maxStoreBytes
  return store === 'memory' ? MEMORY_STORE_BYTES : Number.POSITIVE_INFINITY
}

/** Quotas of the store. What `auto` means leaves room for others in a store with a limit. */
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

/** @param capacity bytes of events there is room for; `Infinity`: as many as the disk takes. */
export function toEventsQuota(
  { quotaEvents }: Pick<QuotaSettings, 'quotaEvents'>,
  capacity: number,
): Quota {
  return createQuota('quota_events', quotaEvents, toAuto('events', capacity))
}

function toAuto(what: keyof typeof AUTO, capacity: number): number {
  const { bytes, share } = AUTO[what]
  return Math.min(bytes, Math.floor(capacity * share))
}

function toBytesRow(name: string, what: string, effect: string): QuotaRow {
  return {
    ...ROW,
    ...{ name, default: 'auto', form: 'size,ns=size,...' },
    description: `Bytes of ${what} of a namespace, but mx, auto or none; ${effect}`,
    parse: (texts) => parseQuota(texts, 'auto', parseLimit, parseLimitOrAuto),
  }
}

function toCountRow(name: string, limit: string, what: string): QuotaRow {
  return {
    ...ROW,
    ...{ name, default: limit, form: 'number,ns=number,...' },
    description: `${what} of a namespace, but mx, or none; 429 for more`,
    parse: (texts) =>
      parseQuota(texts, limit, (text) =>
        text.trim() === 'none' ? Number.POSITIVE_INFINITY : parseNumber(text),
      ),
  }
}

/**
 * `limit` for all namespaces but `mx`, and `namespace=limit` for some; without the first, that of the default.
 *
 * @throws {RangeError}
 */
function parseQuota(
  texts: readonly string[],
  defaultText: string,
  parse: (text: string) => number,
  parseCommon: (text: string) => number | 'auto' = parse,
): QuotaLimits {
  let limit: number | 'auto' | undefined
  const namespaces: Record<string, number> = Object.create(null)
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 0) {
      if (limit !== undefined)
        throw new RangeError(`must have one limit without a namespace, got ${JSON.stringify(text)}`)
      limit = parseCommon(text)
      continue
    }
    const namespace = text.slice(0, at).trim()
    if (!isServiceName(namespace))
      throw new RangeError(`must be limit or namespace=limit, got ${JSON.stringify(text)}`)
    if (namespace in namespaces) throw new RangeError(`names the namespace ${namespace} twice`)
    namespaces[namespace] = parse(text.slice(at + 1))
  }
  return { limit: limit ?? parseCommon(defaultText), namespaces }
}
