import { createHash } from 'node:crypto'
import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { decodeRecord } from '../../domain/store/json-record.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import type { SecretKey } from '../../services/config/secrets/secret-key.ts'

/** Where everything is that gateways share. */
export const TABLE: StoreTable = { database: DEFAULT_NAMESPACE, table: 'acme' }

/** A private key as it is kept. */
export interface StoredKey {
  /** PEM, or what was made of it. */
  readonly key: string
  /** Id of what it is encrypted with; empty: it is not. */
  readonly sealedWith: string
}

/** A certificate as it is kept. */
export interface CertificateRecord extends StoredKey {
  readonly host: string
  /** PEM, with its chain. */
  readonly cert: string
  /** When it is to be renewed, unix time in milliseconds. */
  readonly renewMs: number
}

/** Who orders the certificate of a host, and what became of it before. Spans, as clocks of gateways need not agree. */
export interface OrderRecord {
  readonly host: string
  /** Of the gateway that wrote this. */
  readonly holder: string
  /** How long nobody else may from when they see this, milliseconds; 0: anybody may. */
  readonly holdMs: number
  /** That failed, one after the other. */
  readonly failures: number
  /** How long nobody may, milliseconds. */
  readonly waitMs: number
  /** When that is over by the clock of whoever wrote this, unix time in milliseconds. */
  readonly retryMs: number
  /** Why it failed; empty: it did not. */
  readonly reason: string
}

/** What keys of a directory begin with: certificates of one are none of another. */
export function toScope(directory: string): string {
  return `${createHash('sha256').update(directory).digest('base64url').slice(0, 16)}/`
}

/** Gateways that cannot read each other's keys have certificates, orders and an account each. */
type Kind = 'certificate' | 'order' | 'account'

/** @param sealedWith as of {@link StoredKey}. */
function toPlace(scope: string, kind: Kind, sealedWith: string): string {
  return `${scope}${kind}/${sealedWith || 'plain'}`
}

export function toCertificateKey(scope: string, sealedWith: string, host: string): string {
  return `${toPlace(scope, 'certificate', sealedWith)}/${host}`
}

export function toOrderKey(scope: string, sealedWith: string, host: string): string {
  return `${toPlace(scope, 'order', sealedWith)}/${host}`
}

export function toAccountKey(scope: string, sealedWith: string): string {
  return toPlace(scope, 'account', sealedWith)
}

interface Place {
  readonly kind: string
  /** As of {@link StoredKey}. */
  readonly sealedWith: string
  /** Empty: it is of none. */
  readonly host: string
}

/** What a key below {@link toScope} is of. */
export function parsePlace(scope: string, key: string): Place {
  const [kind = '', sealedWith = '', host = ''] = key.slice(scope.length).split('/')
  return { kind, sealedWith: sealedWith === 'plain' ? '' : sealedWith, host }
}

export function toTokenKey(token: string): string {
  return `token/${token}`
}

/** @throws {GatewayError} 500 */
export function parseCertificateRecord(record: StoreRecord): CertificateRecord {
  return decodeRecord<CertificateRecord>(
    record,
    TABLE.table,
    ({ host, cert, key, renewMs }) =>
      isText(host) && isText(cert) && isText(key) && Number.isFinite(renewMs),
  )
}

/** @throws {GatewayError} 500 */
export function parseOrderRecord(record: StoreRecord): OrderRecord {
  return decodeRecord<OrderRecord>(
    record,
    TABLE.table,
    ({ holder, holdMs, waitMs, retryMs, failures }) =>
      isText(holder) && [holdMs, waitMs, retryMs, failures].every(Number.isFinite),
  )
}

/** @throws {GatewayError} 500 */
export function parseAccountRecord(record: StoreRecord): StoredKey {
  return decodeRecord<StoredKey>(record, TABLE.table, ({ key }) => isText(key))
}

/** @throws {GatewayError} 500 */
export function parseTokenRecord(record: StoreRecord): { readonly keyAuthorization: string } {
  return decodeRecord<{ keyAuthorization: string }>(record, TABLE.table, ({ keyAuthorization }) =>
    isText(keyAuthorization),
  )
}

/** What encrypts private keys in the store, the first, and what did before; none: they are kept as they are. */
export type SecretKeys = readonly SecretKey[]

/** Id of what a gateway encrypts with; empty: nothing. */
export function sealingId([secretKey]: SecretKeys): string {
  return secretKey?.id ?? ''
}

/** @param place the key of the record it is for: it is nothing in another. */
export function sealKey([secretKey]: SecretKeys, place: string, key: string): StoredKey {
  if (secretKey === undefined) return { key, sealedWith: '' }
  return { key: secretKey.seal('', place, key), sealedWith: secretKey.id }
}

/** PEM; undefined: it was encrypted with something else. */
export function openKey(
  secretKeys: SecretKeys,
  place: string,
  kept: StoredKey,
): string | undefined {
  if (kept.sealedWith === '') return kept.key
  const secretKey = secretKeys.find(({ id }) => id === kept.sealedWith)
  return secretKey?.open('', place, kept.key)
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}
