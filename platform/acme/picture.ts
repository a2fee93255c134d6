import type { StoreRecord } from '../../core/contracts/store.ts'
import { type TlsPair, toTlsPair } from '../../core/listener/tls.ts'
import type { Store } from '../../core/store/store.ts'
import { type WatchedRecords, watchRecords } from '../../core/store/watch-records.ts'
import {
  openKey,
  parseCertificateRecord,
  parseOrderRecord,
  type SecretKeys,
  TABLE,
  toCertificatesPrefix,
} from './records.ts'
import { readValidity, type Validity } from './renewal.ts'
import type { SeenOrder } from './turns.ts'

/** A certificate in the store. */
export interface KeptCertificate {
  readonly host: string
  /** Undefined: this gateway cannot use it. */
  readonly pair: TlsPair | undefined
  readonly cert: string
  readonly validity: Validity
  /** When it is to be renewed, unix time in milliseconds. */
  readonly renewMs: number
}

export interface PictureOptions {
  readonly store: Store
  readonly scope: string
  readonly secretKeys: SecretKeys
  /** Called after each change, but not at first. */
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
}

/** What this gateway knows of the certificates of all. */
export interface Picture extends WatchedRecords {
  /** By host. */
  readonly certificates: ReadonlyMap<string, KeptCertificate>
  readonly orders: ReadonlyMap<string, SeenOrder>
}

/** Follows certificates and orders in the store. @throws {GatewayError} 503 when it cannot be reached. */
export async function openPicture(options: PictureOptions): Promise<Picture> {
  const { store, scope, secretKeys, onChange, onWarning } = options
  const certificates = new Map<string, KeptCertificate>()
  const orders = new Map<string, SeenOrder>()
  const start = toCertificatesPrefix(scope)
  let isOpen = false

  function take(key: string, record: StoreRecord | undefined): void {
    const host = key.slice(key.lastIndexOf('/') + 1)
    if (!key.startsWith(start)) {
      if (record === undefined) orders.delete(host)
      else if (key.includes('/order/'))
        orders.set(host, { ...parseOrderRecord(record), version: record.version })
    } else if (record === undefined) certificates.delete(host)
    else certificates.set(host, toCertificate(key, record))
  }

  function toCertificate(key: string, record: StoreRecord): KeptCertificate {
    const content = parseCertificateRecord(record)
    const { host, cert, renewMs } = content
    return { host, cert, renewMs, validity: readValidity(cert), pair: toPair() }

    function toPair(): TlsPair | undefined {
      const before = certificates.get(host)
      if (before?.cert === cert && before.pair !== undefined) return before.pair
      const opened = openKey(secretKeys, key, content)
      if (opened === undefined)
        onWarning(
          `the key of the certificate for ${host} is encrypted with another key: all gateways of a store need the same MX_CONFIG_SECRET_KEY`,
        )
      else {
        const source = { cert: `for ${host}`, key: `for ${host}` }
        // Of other names than its host, it would be in the way of theirs.
        return { ...toTlsPair({ cert, key: opened }, source, onWarning), names: [host] }
      }
      return undefined
    }
  }

  const watched = await watchRecords({
    store,
    table: TABLE,
    prefix: scope,
    onError: (error) => onWarning(`certificates in the store cannot be read: ${String(error)}`),
    onRecords(records, isAll) {
      if (isAll) {
        const isGone = (host: string): boolean => !records.has(start + host)
        for (const host of certificates.keys()) if (isGone(host)) certificates.delete(host)
        orders.clear()
      }
      for (const [key, record] of records) {
        try {
          take(key, record)
        } catch (error) {
          onWarning(`ACME: ${(error as Error).message}`)
        }
      }
      if (isOpen) onChange()
    },
  })
  isOpen = true
  return { certificates, orders, ...watched }
}
