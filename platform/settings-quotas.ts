import type { QuotaLimits } from '../core/quota.ts'
import { isServiceName } from '../core/service-name.ts'
import { parseCount, parseLimit } from './settings-values.ts'

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
  quotaStore: toBytesRow('quota_store', '1gb', 'records and blobs', 'writes beyond it are 507'),
  quotaConfig: toBytesRow(
    'quota_config',
    '64mb',
    'configuration and its history',
    'changes beyond it are 507',
  ),
  quotaEvents: toBytesRow('quota_events', '4gb', 'events', 'publishing beyond it is 507'),
  quotaAccounts: toCountRow('quota_accounts', '1000', 'Accounts'),
  quotaRules: toCountRow('quota_rules', '1000', 'Rules'),
  quotaRegistrations: toCountRow('quota_registrations', '10000', 'Nodes in the registry'),
  quotaPrograms: toCountRow('quota_programs', '100', 'Programs of the runtime'),
  quotaBuilds: toCountRow('quota_builds', '20', 'Builds in progress or waiting'),
  quotaUploads: toCountRow('quota_uploads', '20', 'Uploads in progress, or waiting to be run'),
}

function toBytesRow(name: string, limit: string, what: string, effect: string): QuotaRow {
  return {
    ...ROW,
    ...{ name, default: limit, form: 'size,namespace=size,...' },
    description: `Bytes of ${what} of a namespace, but mx, or none; ${effect}`,
    parse: (texts) => parseQuota(texts, limit, parseLimit),
  }
}

function toCountRow(name: string, limit: string, what: string): QuotaRow {
  return {
    ...ROW,
    ...{ name, default: limit, form: 'number,namespace=number,...' },
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
): QuotaLimits {
  let limit: number | undefined
  const namespaces: Record<string, number> = Object.create(null)
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 0) {
      if (limit !== undefined)
        throw new RangeError(`must have one limit without a namespace, got ${JSON.stringify(text)}`)
      limit = parse(text)
      continue
    }
    const namespace = text.slice(0, at).trim()
    if (!isServiceName(namespace))
      throw new RangeError(`must be limit or namespace=limit, got ${JSON.stringify(text)}`)
    if (namespace in namespaces) throw new RangeError(`names the namespace ${namespace} twice`)
    namespaces[namespace] = parse(text.slice(at + 1))
  }
  return { limit: limit ?? parse(defaultText), namespaces }
}
