import { hash } from 'node:crypto'
import type { QuotaCounter, QuotaPeriod } from '../../../core/contracts/request-quotas.ts'
import type { StoreRecord } from '../../../core/contracts/store.ts'
import { decodeRecord } from '../../../domain/store/json-record.ts'
import { AUTH_TABLE } from '../records.ts'

/** Stored count of a quota in one period. */
export interface QuotaRecord extends QuotaCounter {
  /** Number of counted requests, including reservations. */
  readonly used: number
  /** Limit of the last reservation. */
  readonly limit: number
  /** Increases with each reset. */
  readonly resets: number
  /** Percentage of the last published event; 0 if none. */
  readonly notified: number
}

const PREFIX = 'requestQuota'
/** Ids of accounts from external issuers are longer and contain slashes. */
const PART_MAX = 200

/** Returns the prefix of the counts of a period in a namespace, or of one account. */
export function toQuotaPrefix(
  namespace: string,
  period: QuotaPeriod,
  span: string,
  account?: string,
): string {
  const prefix = `${PREFIX}/${namespace}/${period}/${span}/`
  return account === undefined ? prefix : `${prefix}${toKeyPart(account)}/`
}

export function toQuotaKey(counter: QuotaCounter, span: string): string {
  const { namespace, period, account, quota, apiKey } = counter
  return `${toQuotaPrefix(namespace, period, span, account)}${quota}/${toKeyPart(apiKey)}`
}

/** @throws {GatewayError} 500 */
export function parseQuotaRecord(record: StoreRecord): QuotaRecord {
  return decodeRecord<QuotaRecord>(
    record,
    AUTH_TABLE.table,
    ({ account, used, resets }) =>
      typeof account === 'string' && Number.isInteger(used) && Number.isInteger(resets),
  )
}

function toKeyPart(text: string): string {
  const part = encodeURIComponent(text)
  return part.length <= PART_MAX ? part : `~${hash('sha256', text, 'hex')}`
}
