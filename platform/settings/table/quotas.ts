import type { QuotaLimits } from '../../../core/limits/quota.ts'
import { countQuota, SIZE_QUOTA } from '../parse/quota.ts'
import type { Setting, SettingTable } from '../setting.ts'

/**
 * Quotas per namespace: a limit for all namespaces, and limits for individual namespaces by name.
 */
export interface QuotaSettings {
  /** Bytes of records and blobs. */
  readonly quotaStore: QuotaLimits
  /** Bytes of configuration, with its history. */
  readonly quotaConfig: QuotaLimits
  /** Bytes of events. */
  readonly quotaEvents: QuotaLimits
  readonly quotaAccounts: QuotaLimits
  readonly quotaRules: QuotaLimits
  /** Nodes in the registry. */
  readonly quotaRegistrations: QuotaLimits
  /** Runtime objects. */
  readonly quotaPrograms: QuotaLimits
  readonly quotaBuilds: QuotaLimits
  readonly quotaUploads: QuotaLimits
}

/** Quota settings. The `mx` namespace, used by operators, has no quota unless it is named. */
export const QUOTA_SETTINGS: SettingTable<QuotaSettings> = {
  quotaStore: sizeSetting('quota_store', 'records and blobs', 'writes'),
  quotaConfig: sizeSetting('quota_config', 'configuration and its history', 'changes'),
  quotaEvents: sizeSetting('quota_events', 'events', 'publications'),
  quotaAccounts: countSetting('quota_accounts', '1000', 'accounts'),
  quotaRules: countSetting('quota_rules', '1000', 'rules'),
  quotaRegistrations: countSetting('quota_registrations', '10000', 'registered nodes'),
  quotaPrograms: countSetting('quota_programs', '100', 'programs of the runtime'),
  quotaBuilds: countSetting('quota_builds', '20', 'builds in progress or queued'),
  quotaUploads: countSetting('quota_uploads', '20', 'uploads in progress or not yet run'),
}

function sizeSetting(name: string, subject: string, change: string): Setting<QuotaLimits> {
  return {
    ...SIZE_QUOTA,
    name,
    description: `Quota for the ${subject} of each namespace except mx, auto or none; ${change} beyond it fail with 507`,
    default: 'auto',
    only: 'server',
    live: false,
  }
}

function countSetting(name: string, limit: string, subject: string): Setting<QuotaLimits> {
  return {
    ...countQuota(limit),
    name,
    description: `Maximum number of ${subject} per namespace except mx, or none; exceeding requests fail with 429`,
    default: limit,
    only: 'server',
    live: false,
  }
}
