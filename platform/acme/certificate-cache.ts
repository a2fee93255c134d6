import type { StoreRecord } from '../../core/contracts/store.ts'
import { type Certificate, toTlsPair } from '../../core/listener/tls/tls.ts'
import type { Store } from '../../domain/store/store.ts'
import { type WatchedRecords, watchRecords } from '../../domain/store/watch-records.ts'
import type { Clock } from './client/clock.ts'
import { type SeenOrder, toSeen } from './order-lease.ts'
import {
  openKey,
  parseCertificateRecord,
  parseOrderRecord,
  parsePlace,
  type SecretKeys,
  sealingId,
  TABLE,
  toOrderKey,
} from './records.ts'
import { readValidity, type Validity } from './renewal.ts'

/** A certificate in the store. */
export interface CachedCertificate {
  readonly host: string
  readonly pair: Certificate
  readonly cert: string
  readonly validity: Validity
  /** When it is to be renewed, unix time in milliseconds. */
  readonly renewMs: number
}

export interface CertificateCacheOptions {
  readonly store: Store
  readonly scope: string
  readonly secretKeys: SecretKeys
  readonly clock: Clock
  /** Called after each change, but not at first. */
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
}

/** What this gateway knows of the certificates of all whose keys it can read, and of the orders of those who encrypt as it does. */
export interface CertificateCache extends WatchedRecords {
  /** By host. */
  readonly certificates: ReadonlyMap<string, CachedCertificate>
  /** By host. */
  readonly orders: ReadonlyMap<string, SeenOrder>
}

/** Follows certificates and orders in the store. @throws {GatewayError} 503 when it cannot be reached. */
export async function openCertificateCache(
  options: CertificateCacheOptions,
): Promise<CertificateCache> {
  const { store, scope, secretKeys, clock, onChange, onWarning } = options
  const readable = new Set(['', ...secretKeys.map(({ id }) => id)])
  /** By key: a host has several where the secret key has changed. */
  const kept = new Map<string, CachedCertificate>()
  const certificates = new Map<string, CachedCertificate>()
  const orders = new Map<string, SeenOrder>()
  let isOpen = false

  function take(key: string, record: StoreRecord | undefined): void {
    const { kind, sealedWith, host } = parsePlace(scope, key)
    if (kind === 'order' && sealedWith === sealingId(secretKeys)) takeOrder(host, record)
    if (kind !== 'certificate' || host === '') return
    if (record === undefined) kept.delete(key)
    else if (readable.has(sealedWith)) kept.set(key, toCertificate(key, record))
    else
      onWarning(
        `the key of the certificate for ${host} is encrypted with another key: this gateway orders one of its own; all of a store need the same MX_CONFIG_SECRET_KEY to share them`,
      )
  }

  function takeOrder(host: string, record: StoreRecord | undefined): void {
    const before = orders.get(host)
    if (record === undefined) orders.delete(host)
    else if (before?.version !== record.version)
      orders.set(host, toSeen(parseOrderRecord(record), record.version, isOpen, clock))
  }

  function toCertificate(key: string, record: StoreRecord): CachedCertificate {
    const content = parseCertificateRecord(record)
    const { host, cert, renewMs } = content
    const before = kept.get(key)
    if (before?.cert === cert) return { ...before, renewMs }
    const opened = openKey(secretKeys, key, content)
    if (opened === undefined) throw new Error(`the key of the certificate for ${host} is damaged`)
    const source = { cert: `for ${host}`, key: `for ${host}` }
    // Of other names than its host, it would be in the way of theirs.
    const pair = {
      ...toTlsPair({ cert, key: opened }, source, onWarning, clock.nowMs()),
      names: [host],
    }
    return { host, cert, renewMs, validity: readValidity(cert), pair }
  }

  /** Of several for a host the one that is good for longest. */
  function choose(): void {
    certificates.clear()
    for (const each of kept.values()) {
      const other = certificates.get(each.host)
      if (other === undefined || other.validity.toMs < each.validity.toMs)
        certificates.set(each.host, each)
    }
  }

  const watched = await watchRecords({
    store,
    table: TABLE,
    prefix: scope,
    onError: (error) => onWarning(`certificates in the store cannot be read: ${String(error)}`),
    onRecords(records, isAll) {
      if (isAll) {
        const isGone = (key: string): boolean => !records.has(key)
        for (const key of kept.keys()) if (isGone(key)) kept.delete(key)
        for (const host of orders.keys())
          if (isGone(toOrderKey(scope, sealingId(secretKeys), host))) orders.delete(host)
      }
      for (const [key, record] of records) {
        try {
          take(key, record)
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
