import { isOutage } from '../../core/is-outage.ts'
import { encodeRecord } from '../../domain/store/json-record.ts'
import type { Log } from '../process/log.ts'
import type { CachedCertificate, CertificateCache } from './certificate-cache.ts'
import { AcmeError, type AcmeErrorKind } from './client/acme-error.ts'
import { toRetryMs } from './client/back-off.ts'
import type { Issued } from './client/client.ts'
import type { Directory } from './client/directory.ts'
import type { OnDemandPolicy } from './on-demand-policy.ts'
import { acquireLease, isLeased, type OrderLease, type OrderLeaseOptions } from './order-lease.ts'
import {
  ACME_TABLE,
  type SecretKeys,
  sealingId,
  sealKey,
  toCertificateKey,
  toOrderKey,
} from './records.ts'
import { readValidity, toRenewMs, toRestMs } from './renewal.ts'
import type { RenewalWindows } from './renewal-info.ts'
import { createRetryPauses } from './retry-policy.ts'

export interface CertificateManagerOptions extends OrderLeaseOptions {
  readonly scope: string
  readonly cache: CertificateCache
  readonly directory: Pick<Directory, 'issue'>
  readonly windows: RenewalWindows
  readonly secretKeys: SecretKeys
  /** Hosts listed in `acme_hosts`. */
  readonly hosts: readonly string[]
  /** Undefined if only listed hosts have certificates. */
  readonly policy: OnDemandPolicy | undefined
  readonly random: () => number
  readonly log: Log
}

/** Orders certificates and renews them before they expire. */
export interface CertificateManager {
  /** Orders all certificates that are due. Never rejects. No-op once closed. */
  readonly work: () => Promise<void>
  /**
   * Orders a certificate for an unlisted host that the policy allows. Resolves when the order has
   * ended or currently cannot be placed.
   */
  readonly request: (host: string) => Promise<void>
  /** Returns whether certificate orders for a host are currently blocked. */
  readonly isBlocked: (host: string) => boolean
  /** Returns whether another gateway is ordering a certificate for a host. */
  readonly isOrderedElsewhere: (host: string) => boolean
  /** Waits for orders in flight; other gateways may continue them. */
  readonly close: () => Promise<void>
}

/**
 * Maximum number of concurrent orders, so that a host whose challenge is never validated delays few
 * other hosts.
 */
const ORDERS_MAX = 16
/** Maximum number of requested hosts in the queue. */
const REQUESTED_MAX = 1000
/**
 * Pause after another gateway has acquired the lease first. This gateway has received its order record by then.
 */
const LEASE_RETRY_MS = 1000
/**
 * Retention of certificates for unlisted hosts after they expire. An expired certificate explains
 * the failure better than a missing one.
 */
const RETAINED_MS = 7 * 24 * 3600 * 1000

export function createCertificateManager(options: CertificateManagerOptions): CertificateManager {
  const { cache, directory, windows, secretKeys, hosts, policy, random, log } = options
  const { scope, clock } = options
  const listed = new Set(hosts)
  const requested = new Set<string>()
  const inFlight = new Map<string, Promise<void>>()
  /** Issued certificates that have not been stored yet, by host. */
  const unsaved = new Map<string, Issued>()
  const retryPauses = createRetryPauses(clock)
  let refreshing: Promise<void> | undefined
  let closed = false

  function isDue(host: string): boolean {
    const certificate = cache.certificates.get(host)
    return certificate === undefined || windows.toRenewMs(certificate) <= clock.nowMs()
  }

  function isBlocked(host: string): boolean {
    return retryPauses.isPaused(host) || isLeased(cache.orders.get(host), options)
  }

  /**
   * Lists all hosts that need a certificate: first the hosts that clients are waiting for, then the
   * listed hosts.
   */
  function listHosts(): Iterable<string> {
    if (policy === undefined) return hosts
    return new Set([...requested, ...hosts, ...cache.certificates.keys()])
  }

  /** Starts as many orders as the limit allows. */
  function fill(): void {
    for (const host of listHosts()) {
      if (closed) return
      if (inFlight.has(host)) continue
      if (isDue(host) && !isBlocked(host)) {
        if (inFlight.size >= ORDERS_MAX) return
        start(host)
      }
      requested.delete(host)
    }
  }

  function start(host: string): void {
    // The policy has already been queried for requested hosts.
    const isAllowed = listed.has(host) || requested.has(host)
    const ordered = order(host, isAllowed).catch((error: unknown) => onOrderError(host, error))
    inFlight.set(
      host,
      ordered.finally(() => {
        inFlight.delete(host)
        fill()
      }),
    )
  }

  /** Logs a failed order. Errors that do not come from the directory pause only this gateway. */
  function onOrderError(host: string, error: unknown): void {
    if (closed) return
    // The store logs its own outages.
    if (isOutage(error)) log.debug({ host, err: error }, 'ACME: store unavailable')
    else log.warn({ host, err: error }, 'ACME: order failed')
    pause(host, isOutage(error) ? 'unavailable' : 'rejected')
  }

  function pause(host: string, kind: AcmeErrorKind): void {
    retryPauses.fail(host, toRetryMs({ kind, retryAfterMs: 0 }, retryPauses.failures(host), random))
  }

  async function order(host: string, isAllowed: boolean): Promise<void> {
    const certificate = cache.certificates.get(host)
    if (!isAllowed && !(await policy?.(host))) return pause(host, 'unavailable')
    const cachedOrder = cache.orders.get(host)
    const key = toOrderKey(scope, sealingId(secretKeys), host)
    const lease = await acquireLease(
      { host, key, observed: cachedOrder, isListed: listed.has(host) },
      options,
    )
    if (lease === undefined) {
      retryPauses.rest(host, LEASE_RETRY_MS)
      return cache.refresh()
    }
    let isEnded = false
    try {
      // Another gateway may have ordered the certificate in the meantime.
      await cache.refresh()
      if (!isDue(host)) {
        unsaved.delete(host)
        return retryPauses.end(host)
      }
      isEnded = true
      await issue(host, certificate, cachedOrder?.failures ?? 0, lease)
      await cache.refresh()
    } finally {
      if (!isEnded) await lease.release()
    }
  }

  async function issue(
    host: string,
    previous: CachedCertificate | undefined,
    failures: number,
    lease: OrderLease,
  ): Promise<void> {
    try {
      const issued = unsaved.get(host) ?? (await requestCertificate(host, previous, failures))
      const { cert, key } = issued
      unsaved.set(host, issued)
      const validity = readValidity(cert)
      const recordKey = toCertificateKey(scope, sealingId(secretKeys), host)
      const renewMs = toRenewMs(validity, random)
      const value = encodeRecord({ host, cert, renewMs, ...sealKey(secretKeys, recordKey, key) })
      const expiresMs = listed.has(host) ? 0 : validity.toMs + RETAINED_MS
      const restMs = toRestMs(validity)
      await lease.succeed({ table: ACME_TABLE, key: recordKey, value, expiresMs }, restMs)
      unsaved.delete(host)
      retryPauses.rest(host, restMs)
      log.info(
        { host, until: toTime(validity.toMs), renewed: toTime(renewMs) },
        previous ? 'certificate renewed' : 'certificate issued',
      )
    } catch (error) {
      if (closed || !(error instanceof AcmeError)) {
        await lease.release().catch(() => {})
        throw error
      }
      const retryMs = toRetryMs(error, failures, random)
      retryPauses.fail(host, retryMs)
      log.warn(
        {
          host,
          reason: error.message,
          failures: failures + 1,
          retryInSeconds: Math.round(retryMs / 1000),
          ...(previous && { servedUntil: toTime(previous.validity.toMs) }),
        },
        previous
          ? 'certificate renewal failed; the current certificate stays in use'
          : 'certificate request failed; handshakes for this host fail until a retry succeeds',
      )
      // This gateway pauses even if the store is unavailable.
      await lease.fail(error.message, retryMs).catch(() => {})
    }
  }

  async function requestCertificate(
    host: string,
    previous: CachedCertificate | undefined,
    failures: number,
  ): Promise<Issued> {
    if (previous !== undefined) await windows.refresh([previous])
    // The directory may have rejected the order because of the certificate it replaces.
    return directory.issue(host, failures === 0 ? windows.toReplacedId(previous) : undefined)
  }

  async function refreshWindows(): Promise<void> {
    await windows.refresh([...listHosts()].flatMap((host) => cache.certificates.get(host) ?? []))
  }

  return {
    async work() {
      if (closed) return
      fill()
      refreshing ??= refreshWindows().finally(() => {
        refreshing = undefined
      })
      await refreshing
      fill()
      await Promise.all(inFlight.values())
    },
    async request(host) {
      if (requested.size < REQUESTED_MAX) requested.add(host)
      fill()
      await inFlight.get(host)
    },
    isBlocked,
    isOrderedElsewhere(host) {
      const order = cache.orders.get(host)
      return order !== undefined && order.holdMs > 0 && isLeased(order, options)
    },
    async close() {
      closed = true
      await Promise.all(inFlight.values())
    },
  }
}

function toTime(ms: number): string {
  return new Date(ms).toISOString()
}
