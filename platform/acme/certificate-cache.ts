import type { StoreRecord } from '../../core/contracts/store.ts'
import { type Certificate, toTlsPair } from '../../core/listener/tls/tls.ts'
import type { Store } from '../../domain/store/store.ts'
import { type WatchedRecords, watchRecords } from '../../domain/store/watch-records.ts'
import type { Clock } from './client/clock.ts'
import { type ObservedOrder, toObservedOrder } from './order-lease.ts'
import {
  ACME_TABLE,
  openKey,
  parseCertificateRecord,
  parseOrderRecord,
  parseRecordKey,
  type SecretKeys,
  sealingId,
  toOrderKey,
} from './records.ts'
import { readValidity, type Validity } from './renewal.ts'

/** A certificate in the store. */
export interface CachedCertificate {
  readonly host: string
  readonly pair: Certificate
  readonly cert: string
  readonly validity: Validity
  /** Renewal time, Unix time in milliseconds. */
  readonly renewMs: number
}

export interface CertificateCacheOptions {
  readonly store: Store
  readonly scope: string
  readonly secretKeys: SecretKeys
  readonly clock: Clock
  /** Called after each change except for the initial contents. */
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
}

/**
 * Certificates whose private keys this gateway can decrypt, and orders placed by gateways with the
 * same secret key.
 */
export interface CertificateCache extends WatchedRecords {
  /** Certificates by host. */
  readonly certificates: ReadonlyMap<string, CachedCertificate>
  /** Orders by host. */
  readonly orders: ReadonlyMap<string, ObservedOrder>
}

/**
 * Watches certificates and orders in the store.
 *
 * @throws {GatewayError} 503 if the store is unreachable.
 */
export async function openCertificateCache(
  options: CertificateCacheOptions,
): Promise<CertificateCache> {
  const { store, scope, secretKeys, clock, onChange, onWarning } = options
  const readable = new Set(['', ...secretKeys.map(({ id }) => id)])
  /** Certificates by key. A host has several certificates after the secret key has changed. */
  const byKey = new Map<string, CachedCertificate>()
  const certificates = new Map<string, CachedCertificate>()
  const orders = new Map<string, ObservedOrder>()
  let isOpen = false

  function apply(key: string, record: StoreRecord | undefined): void {
    const { kind, sealedWith, host } = parseRecordKey(scope, key)
    if (kind === 'order' && sealedWith === sealingId(secretKeys)) applyOrder(host, record)
    if (kind !== 'certificate' || host === '') return
    if (record === undefined) byKey.delete(key)
    else if (readable.has(sealedWith)) byKey.set(key, toCertificate(key, record))
    else
      onWarning(
        `the private key of the certificate for ${host} is encrypted with a different key; this gateway orders a separate certificate; to share certificates, set the same MX_CONFIG_SECRET_KEY on all gateways of a store`,
      )
  }

  function applyOrder(host: string, record: StoreRecord | undefined): void {
    const previous = orders.get(host)
    if (record === undefined) orders.delete(host)
    else if (previous?.version !== record.version)
      orders.set(host, toObservedOrder(parseOrderRecord(record), record.version, isOpen, clock))
  }

  function toCertificate(recordKey: string, record: StoreRecord): CachedCertificate {
    const content = parseCertificateRecord(record)
    const { host, cert, renewMs } = content
    const previous = byKey.get(recordKey)
    if (previous?.cert === cert) return { ...previous, renewMs }
    const key = openKey(secretKeys, recordKey, content)
    if (key === undefined)
      throw new Error(`the private key of the certificate for ${host} is damaged`)
    const source = { cert: `for ${host}`, key: `for ${host}` }
    // A certificate that also covers other names must not replace the certificates ordered for those names.
    const pair = {
      ...toTlsPair({ cert, key }, source, onWarning, clock.nowMs()),
      names: [host],
    }
    return { host, cert, renewMs, validity: readValidity(cert), pair }
  }

  /** Selects the certificate that expires last for each host. */
  function choose(): void {
    certificates.clear()
    for (const certificate of byKey.values()) {
      const newest = certificates.get(certificate.host)
      if (newest === undefined || newest.validity.toMs < certificate.validity.toMs)
        certificates.set(certificate.host, certificate)
    }
  }

  const watched = await watchRecords({
    store,
    table: ACME_TABLE,
    prefix: scope,
    onError: (error) => onWarning(`cannot read certificates from the store: ${String(error)}`),
    onRecords(records, isAll) {
      if (isAll) {
        for (const key of byKey.keys()) if (!records.has(key)) byKey.delete(key)
        for (const host of orders.keys())
          if (!records.has(toOrderKey(scope, sealingId(secretKeys), host))) orders.delete(host)
      }
      for (const [key, record] of records) {
        try {
          apply(key, record)
        } catch (error) {
          onWarning(`ACME: ${(error as Error).message}`)
        }
      }
      choose()
      if (isOpen) onChange()
    },
  })
  isOpen = true
  return { certificates, orders, ...watched }
}
