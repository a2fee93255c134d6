import { formatKept } from '../../core/store/kept-json.ts'
import type { Log } from '../log.ts'
import { AcmeError } from './acme-error.ts'
import type { Ask } from './ask.ts'
import { toRetryMs } from './back-off.ts'
import type { Directory } from './directory.ts'
import type { KeptCertificate, Picture } from './picture.ts'
import { type SecretKeys, sealKey, TABLE, toCertificateKey } from './records.ts'
import { readValidity, toRenewMs } from './renewal.ts'
import { isTaken, type Turn, type TurnOptions, takeTurn } from './turns.ts'
import type { Windows } from './windows.ts'

export interface KeeperOptions extends TurnOptions {
  readonly picture: Picture
  readonly directory: Directory
  readonly windows: Windows
  readonly secretKeys: SecretKeys
  /** Whose certificates there are to be. */
  readonly hosts: readonly string[]
  /** Undefined: there are no others. */
  readonly ask: Ask | undefined
  readonly random: () => number
  readonly log: Log
}

/** Orders certificates, one after the other, and again before they end. */
export interface Keeper {
  /** Looks what is to be done, and does it. Never rejects; closed, it does nothing. */
  readonly work: () => Promise<void>
  /** Orders one for a host nobody listed, at the next {@link work}. */
  readonly want: (host: string) => void
  /** Ends the order under way, which others may take up. */
  readonly close: () => Promise<void>
}

/** Of hosts that were asked for and have none yet. */
const WANTED_MAX = 1000
/** Certificates stay in the store for so long after their end: an old one tells more than none. */
const KEPT_AFTER_MS = 7 * 24 * 3600 * 1000
/** One whose key this gateway cannot read is replaced so late that whoever can has done it before. */
const UNREADABLE_GRACE = 0.9

export function createKeeper(options: KeeperOptions): Keeper {
  const { picture, directory, windows, secretKeys, hosts, ask, random, log } = options
  const { scope, nowMs } = options
  const listed = new Set(hosts)
  const wanted = new Set<string>()
  let working: Promise<void> | undefined
  let again = false
  let closed = false

  function isDue(certificate: KeptCertificate | undefined): boolean {
    if (certificate === undefined) return true
    if (certificate.pair !== undefined) return windows.toRenewMs(certificate) <= nowMs()
    const { fromMs, toMs } = certificate.validity
    return fromMs + (toMs - fromMs) * UNREADABLE_GRACE <= nowMs()
  }

  /** All that are to have a certificate, those that were listed first. */
  function listHosts(): readonly string[] {
    if (ask === undefined) return hosts
    return [...new Set([...hosts, ...wanted, ...picture.certificates.keys()])]
  }

  async function workOnce(): Promise<void> {
    await windows.ask(listOwn())
    for (const host of listHosts()) {
      if (closed) return
      if (!isDue(picture.certificates.get(host)) || isTaken(picture.orders.get(host), nowMs()))
        continue
      try {
        await order(host)
      } catch (error) {
        // The store: it says so itself.
        log.debug({ host, err: error }, 'ACME: the order cannot be kept')
      }
      wanted.delete(host)
    }
  }

  function listOwn(): readonly KeptCertificate[] {
    return listHosts().flatMap((host) => picture.certificates.get(host) ?? [])
  }

  async function order(host: string): Promise<void> {
    const certificate = picture.certificates.get(host)
    // Those that were just asked about are not asked about again.
    const isAsked = listed.has(host) || wanted.has(host)
    if (!isAsked && !(await ask?.(host))) return
    const seen = picture.orders.get(host)
    const turn = await takeTurn(host, seen, options)
    if (turn === undefined) return
    let isEnded = false
    try {
      // Another gateway may have had one since.
      await picture.refresh()
      if (!isDue(picture.certificates.get(host))) return
      const failures = seen?.failures ?? 0
      isEnded = true
      await issue(host, certificate, failures, turn)
      await picture.refresh()
    } finally {
      if (!isEnded) await turn.release()
    }
  }

  async function issue(
    host: string,
    before: KeptCertificate | undefined,
    failures: number,
    turn: Turn,
  ): Promise<void> {
    try {
      // What was refused as a replacement may be no replacement any more.
      const replaces = failures === 0 ? windows.toReplaced(before) : undefined
      const { cert, key } = await directory.issue(host, replaces)
      const validity = readValidity(cert)
      const place = toCertificateKey(scope, host)
      const renewMs = toRenewMs(validity, random)
      const value = formatKept({ host, cert, renewMs, ...sealKey(secretKeys, place, key) })
      const expiresMs = validity.toMs + KEPT_AFTER_MS
      await turn.succeed({ table: TABLE, key: place, value, expiresMs })
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
      await turn.fail(error.message, nowMs() + retryMs)
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
    }
  }

  async function workAll(): Promise<void> {
    do {
      again = false
      await workOnce().catch((error: unknown) => log.warn({ err: error }, 'ACME: work failed'))
    } while (again && !closed)
  }

  return {
    work() {
      if (closed) return Promise.resolve()
      if (working !== undefined) again = true
      working ??= workAll().finally(() => {
        working = undefined
      })
      return working
    },
    want(host) {
      if (wanted.size < WANTED_MAX) wanted.add(host)
    },
    async close() {
      closed = true
      await working
    },
  }
}

function toTime(ms: number): string {
  return new Date(ms).toISOString()
}
