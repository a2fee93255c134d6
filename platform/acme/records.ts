import { createHash } from 'node:crypto'
import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { decodeRecord } from '../../domain/store/json-record.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import type { SecretKey } from '../../services/config/secrets/secret-key.ts'

/** Table shared by all gateways of a store. */
export const ACME_TABLE: StoreTable = { database: DEFAULT_NAMESPACE, table: 'acme' }

/** A private key in the store. */
export interface StoredKey {
  /** Key in PEM format, or its ciphertext. */
  readonly key: string
  /** Id of the secret key that encrypts it; empty if not encrypted. */
  readonly sealedWith: string
}

/** A certificate in the store. */
export interface CertificateRecord extends StoredKey {
  readonly host: string
  /** Certificate chain in PEM format. */
  readonly cert: string
  /** Renewal time, Unix time in milliseconds. */
  readonly renewMs: number
}

/**
 * Lease and failures of the order for a host. It contains durations, because the clocks of gateways
 * may differ.
 */
export interface OrderRecord {
  readonly host: string
  /** Id of the gateway that wrote the record. */
  readonly holder: string
  /** Lease duration in milliseconds, starting when a gateway reads the record; 0 if released. */
  readonly holdMs: number
  /** Consecutive failures. */
  readonly failures: number
  /** Pause for all gateways in milliseconds. */
  readonly waitMs: number
  /** End of the pause on the writer's clock, Unix time in milliseconds. */
  readonly retryMs: number
  /** Last error; empty if none. */
  readonly reason: string
}

/** Returns the key prefix of a directory. Certificates of different directories are separate. */
export function toScope(directory: string): string {
  return `${createHash('sha256').update(directory).digest('base64url').slice(0, 16)}/`
}

/**
 * Kind of record. Gateways with different secret keys have separate certificates, orders and
 * accounts.
 */
type Kind = 'certificate' | 'order' | 'account'

function toKeyPrefix(scope: string, kind: Kind, sealedWith: string): string {
  return `${scope}${kind}/${sealedWith || 'plain'}`
}

export function toCertificateKey(scope: string, sealedWith: string, host: string): string {
  return `${toKeyPrefix(scope, 'certificate', sealedWith)}/${host}`
}

export function toOrderKey(scope: string, sealedWith: string, host: string): string {
  return `${toKeyPrefix(scope, 'order', sealedWith)}/${host}`
}

export function toAcmeAccountKey(scope: string, sealedWith: string): string {
  return toKeyPrefix(scope, 'account', sealedWith)
}

interface RecordKey {
  readonly kind: string
  /** See {@link StoredKey}. */
  readonly sealedWith: string
  /** Empty for account records. */
  readonly host: string
}

/** Parses a key with the prefix {@link toScope}. */
export function parseRecordKey(scope: string, key: string): RecordKey {
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
    ACME_TABLE.table,
    ({ host, cert, key, renewMs }) =>
      isText(host) && isText(cert) && isText(key) && Number.isFinite(renewMs),
  )
}

/** @throws {GatewayError} 500 */
export function parseOrderRecord(record: StoreRecord): OrderRecord {
  return decodeRecord<OrderRecord>(
    record,
    ACME_TABLE.table,
    ({ holder, holdMs, waitMs, retryMs, failures }) =>
      isText(holder) && [holdMs, waitMs, retryMs, failures].every(Number.isFinite),
  )
}

/** @throws {GatewayError} 500 */
export function parseAcmeAccount(record: StoreRecord): StoredKey {
  return decodeRecord<StoredKey>(record, ACME_TABLE.table, ({ key }) => isText(key))
}

/** @throws {GatewayError} 500 */
export function parseTokenRecord(record: StoreRecord): { readonly keyAuthorization: string } {
  return decodeRecord<{ keyAuthorization: string }>(
    record,
    ACME_TABLE.table,
    ({ keyAuthorization }) => isText(keyAuthorization),
  )
}

/**
 * Secret keys for private keys in the store, the current one first. If empty, private keys are
 * stored unencrypted.
 */
export type SecretKeys = readonly SecretKey[]

/** Returns the id of the current secret key; empty if encryption is disabled. */
export function sealingId([secretKey]: SecretKeys): string {
  return secretKey?.id ?? ''
}

/**
 * @param recordKey bound to the ciphertext, so that it cannot be decrypted under a different record
 * key.
 */
export function sealKey([secretKey]: SecretKeys, recordKey: string, key: string): StoredKey {
  if (secretKey === undefined) return { key, sealedWith: '' }
  return { key: secretKey.seal('', recordKey, key), sealedWith: secretKey.id }
}

/** Decrypts a private key to PEM. Returns undefined if it was encrypted with a different key. */
export function openKey(
  secretKeys: SecretKeys,
  recordKey: string,
  stored: StoredKey,
): string | undefined {
  if (stored.sealedWith === '') return stored.key
  const secretKey = secretKeys.find(({ id }) => id === stored.sealedWith)
  return secretKey?.open('', recordKey, stored.key)
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}
