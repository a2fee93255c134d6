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
  type SecretKeys,
  sealingId,
  sealKey,
  TABLE,
  toCertificateKey,
  toOrderKey,
} from './records.ts'
import { readValidity, toRenewMs, toRestMs } from './renewal.ts'
import type { Windows } from './renewal-info.ts'
import { createPauses } from './retry-policy.ts'

export interface CertificateManagerOptions extends OrderLeaseOptions {
  readonly scope: string
  readonly picture: CertificateCache
  readonly directory: Pick<Directory, 'issue'>
  readonly windows: Windows
  readonly secretKeys: SecretKeys
  /** Whose certificates there are to be. */
  readonly hosts: readonly string[]
  /** Undefined: there are no others. */
  readonly ask: OnDemandPolicy | undefined
  readonly random: () => number
  readonly log: Log
}

/** Orders certificates, and again before they end. */
export interface CertificateManager {
  /** Looks what is to be done, and does it. Never rejects; closed, it does nothing. */
  readonly work: () => Promise<void>
  /** Orders one for a host nobody listed, which the ask rule lets. Resolves when that is done, or cannot be for now. */
  readonly want: (host: string) => Promise<void>
  /** Whether none can be ordered for a host for now. */
  readonly isTaken: (host: string) => boolean
  /** Whether another gateway is ordering one. */
  readonly isElsewhere: (host: string) => boolean
  /** Ends the orders under way, which others may take up. */
  readonly close: () => Promise<void>
}

/** At a time: a host whose challenge is never looked at keeps few others waiting. */
const ORDERS_MAX = 16
/** Of hosts that were asked for and have none yet. */
const WANTED_MAX = 1000
/** Another gateway was faster: by then it is known what it does. */
const LOST_MS = 1000
/** Certificates of hosts nobody listed stay in the store for so long after their end: an old one tells more than none. */
const KEPT_AFTER_MS = 7 * 24 * 3600 * 1000

export function createCertificateManager(options: CertificateManagerOptions): CertificateManager {
  const { picture, directory, windows, secretKeys, hosts, ask, random, log } = options
  const { scope, clock } = options
  const listed = new Set(hosts)
  const wanted = new Set<string>()
  const under = new Map<string, Promise<void>>()
  /** Certificates the store has not taken yet, by host. */
  const unkept = new Map<string, Issued>()
  const pauses = createPauses(clock)
  let asking: Promise<void> | undefined
  let closed = false

  function isDue(host: string): boolean {
    const certificate = picture.certificates.get(host)
    return certificate === undefined || windows.toRenewMs(certificate) <= clock.nowMs()
  }

  function mayNotOrder(host: string): boolean {
    return pauses.isPaused(host) || isLeased(picture.orders.get(host), options)
  }

  /** All that are to have a certificate: first those somebody waits for, then those that were listed. */
  function listHosts(): Iterable<string> {
    if (ask === undefined) return hosts
    return new Set([...wanted, ...hosts, ...picture.certificates.keys()])
  }

  /** Starts as many orders as there may be. */
  function fill(): void {
    for (const host of listHosts()) {
      if (closed) return
      if (under.has(host)) continue
      if (isDue(host) && !mayNotOrder(host)) {
        if (under.size >= ORDERS_MAX) return
        start(host)
      }
      wanted.delete(host)
    }
  }

  function start(host: string): void {
    // Those that were just asked about are not asked about again.
    const isAsked = listed.has(host) || wanted.has(host)
    const ordered = order(host, isAsked).catch((error: unknown) => setAside(host, error))
    under.set(
      host,
      ordered.finally(() => {
        under.delete(host)
        fill()
      }),
    )
  }

  /** What is no answer of the directory is told to no other gateway. */
  function setAside(host: string, error: unknown): void {
    if (closed) return
    // The store tells itself that it is away.
    if (isOutage(error)) log.debug({ host, err: error }, 'ACME: the store is away')
    else log.warn({ host, err: error }, 'ACME: the order has failed')
    pause(host, isOutage(error) ? 'away' : 'refused')
  }

  function pause(host: string, kind: AcmeErrorKind): void {
    pauses.fail(host, toRetryMs({ kind, retryAfterMs: 0 }, pauses.failures(host), random))
  }

  async function order(host: string, isAsked: boolean): Promise<void> {
    const certificate = picture.certificates.get(host)
    if (!isAsked && !(await ask?.(host))) return pause(host, 'away')
    const seen = picture.orders.get(host)
    const place = toOrderKey(scope, sealingId(secretKeys), host)
    const turn = await acquireLease({ host, place, seen, isListed: listed.has(host) }, options)
    if (turn === undefined) {
      pauses.rest(host, LOST_MS)
      return picture.refresh()
    }
    let isEnded = false
    try {
      // Another gateway may have had one since.
      await picture.refresh()
      if (!isDue(host)) {
        unkept.delete(host)
        return pauses.end(host)
      }
      isEnded = true
      await issue(host, certificate, seen?.failures ?? 0, turn)
      await picture.refresh()
    } finally {
      if (!isEnded) await turn.release()
    }
  }

  async function issue(
    host: string,
    before: CachedCertificate | undefined,
    failures: number,
    turn: OrderLease,
  ): Promise<void> {
    try {
      const issued = unkept.get(host) ?? (await request(host, before, failures))
      const { cert, key } = issued
      unkept.set(host, issued)
      const validity = readValidity(cert)
      const place = toCertificateKey(scope, sealingId(secretKeys), host)
      const renewMs = toRenewMs(validity, random)
      const value = encodeRecord({ host, cert, renewMs, ...sealKey(secretKeys, place, key) })
      const expiresMs = listed.has(host) ? 0 : validity.toMs + KEPT_AFTER_MS
      const restMs = toRestMs(validity)
      await turn.succeed({ table: TABLE, key: place, value, expiresMs }, restMs)
      unkept.delete(host)
      pauses.rest(host, restMs)
      log.info(
        { host, until: toTime(validity.toMs), renewed: toTime(renewMs) },
        before ? 'certificate renewed' : 'certificate issued',
      )
    } catch (error) {
      if (closed || !(error instanceof AcmeError)) {
        await turn.release().catch(() => {})
        throw error
      }
      const retryMs = toRetryMs(error, failures, random)
      pauses.fail(host, retryMs)
      log.warn(
        {
          host,
          reason: error.message,
          failures: failures + 1,
          retryInSeconds: Math.round(retryMs / 1000),
          ...(before && { servedUntil: toTime(before.validity.toMs) }),
        },
        before
          ? 'the certificate cannot be renewed; the one there is stays in use'
          : 'no certificate can be had; handshakes for this host fail until then',
      )
      // Where the store does not hear of it, this gateway knows at least.
      await turn.fail(error.message, retryMs).catch(() => {})
    }
  }

  async function request(
    host: string,
    before: CachedCertificate | undefined,
    failures: number,
  ): Promise<Issued> {
    if (before !== undefined) await windows.ask([before])
    // What was refused as a replacement may be no replacement any more.
    return directory.issue(host, failures === 0 ? windows.toReplaced(before) : undefined)
  }

  async function askWindows(): Promise<void> {
    const own = [...listHosts()].flatMap((host) => picture.certificates.get(host) ?? [])
    await windows.ask(own)
  }

  return {
    async work() {
      if (closed) return
      fill()
      asking ??= askWindows().finally(() => {
        asking = undefined
      })
      await asking
      fill()
      await Promise.all(under.values())
    },
    async want(host) {
      if (wanted.size < WANTED_MAX) wanted.add(host)
      fill()
      await under.get(host)
    },
    isTaken: mayNotOrder,
    isElsewhere(host) {
      const order = picture.orders.get(host)
      return order !== undefined && order.holdMs > 0 && isLeased(order, options)
    },
    async close() {
      closed = true
      await Promise.all(under.values())
    },
  }
}

function toTime(ms: number): string {
  return new Date(ms).toISOString()
}
