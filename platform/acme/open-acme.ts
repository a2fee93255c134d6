import { randomUUID } from 'node:crypto'
import { createCertificateSource } from '../../core/listener/tls/certificates.ts'
import { readAuthorities } from '../../core/listener/tls/read-authorities.ts'
import type { Certificate, TlsSource } from '../../core/listener/tls/tls.ts'
import type { Store } from '../../domain/store/store.ts'
import { settlesWithin } from '../../lib/async/timeout.ts'
import type { Log } from '../process/log.ts'
import type { Settings } from '../settings/settings.ts'
import { openCertificateCache } from './certificate-cache.ts'
import { createCertificateManager } from './certificate-manager.ts'
import { createDirectory } from './client/directory.ts'
import { createHourlyLimit } from './client/hourly-limit.ts'
import { type HttpChallengeServer, openHttpChallengeServer } from './http-challenge-server.ts'
import { createOnDemand, type OnDemand } from './on-demand.ts'
import { createOnDemandPolicy, type OnDemandPolicy } from './on-demand-policy.ts'
import { type SecretKeys, toScope } from './records.ts'
import { createRenewalWindows } from './renewal-info.ts'

export interface AcmeOptions {
  readonly settings: Settings
  /** Gateways with the same store share their certificates. */
  readonly store: Store
  readonly secretKeys: SecretKeys
  readonly log: Log
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
  /** Monotonic clock in milliseconds. @default performance.now */
  readonly elapsedMs?: () => number
  /** @default Math.random */
  readonly random?: () => number
  /** Interval between checks for due certificates in milliseconds. @default 10000 */
  readonly checkMs?: number
  /** See `OrderLeaseOptions`. @default 60000 */
  readonly holdMs?: number
  /** See `AcmeClientOptions`. */
  readonly pollMs?: number
}

/** Automatically issued and renewed certificates. */
export interface Acme extends TlsSource {
  readonly challengeServer: Pick<HttpChallengeServer, 'port'>
  /** Issues and renews the certificates that are due. */
  readonly work: () => Promise<void>
}

const CLOSE_MS = 2000
/** Tolerated difference between the local clock and the directory's clock. */
const SKEW_MAX_MS = 5 * 60_000

/**
 * Serves the certificates in the store, orders missing ones and renews expiring ones. Failures are
 * logged and retried.
 *
 * @throws {Error} with a one-line message if the CA file or the store cannot be read.
 */
export async function openAcme(options: AcmeOptions): Promise<Acme> {
  const { settings, store, secretKeys, log, nowMs = Date.now, random = Math.random } = options
  const clock = { nowMs, elapsedMs: options.elapsedMs ?? (() => performance.now()) }
  const { checkMs = 10_000, holdMs = 60_000, pollMs = 1000 } = options
  const { acmeHosts: hosts, acmeDirectory: url } = settings
  const scope = toScope(url)
  const listed = new Set(hosts)
  const closing = new AbortController()
  const onWarning = createOnceLog(log)
  let isSkewed = false

  const policy = createPolicy()
  const tls = createCertificateSource({
    isStrict: hosts.length === 0,
    request: async (serverName) => onDemand?.request(serverName),
  })
  const directory = createDirectory({
    ...{ store, scope, secretKeys, nowMs, pollMs, directory: url },
    signal: closing.signal,
    ca:
      settings.acmeCaFile === '' ? undefined : readAuthorities(settings.acmeCaFile, 'acme_ca_file'),
    email: settings.acmeEmail,
    eab: { keyId: settings.acmeEabKid, hmacKey: settings.acmeEabKey },
    onSkew,
  })
  const cache = await openCertificateCache({
    ...{ store, scope, secretKeys, clock, onWarning },
    onChange: publish,
  })
  const windows = createRenewalWindows({
    ...{ directory, clock, random },
    onFailure: (host, error) =>
      log.debug({ host, reason: error.message }, 'ACME renewal information unavailable'),
  })
  const manager = createCertificateManager({
    ...{ store, scope, holder: randomUUID(), holdMs, clock },
    ...{ cache, directory, windows, secretKeys, hosts, policy, random, log },
  })
  const onDemand: OnDemand | undefined =
    policy &&
    createOnDemand({
      policy,
      has: hasCertificate,
      isBlocked: manager.isBlocked,
      isOrderedElsewhere: manager.isOrderedElsewhere,
      order: manager.request,
    })
  publish()
  const challengeServer = await openHttpChallengeServer({
    address: settings.acmeAddress,
    findToken: directory.findToken,
    async hasHost(host) {
      if (listed.has(host)) return true
      await onDemand?.request(host)
      return hasCertificate(host)
    },
    httpsPort: settings.address.port,
    log,
  })
  const timer = setInterval(() => void manager.work(), checkMs).unref()
  void manager.work()

  /**
   * Returns the policy for hosts outside `acme_hosts`, or undefined if certificates are not ordered
   * for them.
   */
  function createPolicy(): OnDemandPolicy | undefined {
    if (settings.acmeAsk !== '')
      return createOnDemandPolicy({ url: settings.acmeAsk, onError: onWarning })
    if (hosts.length > 0) return undefined
    log.warn(
      'ACME orders certificates for any host name that clients request, at most 10 new names per hour; list hosts in acme_hosts, or set acme_ask',
    )
    return createHourlyLimit({ has: hasCertificate, elapsedMs: clock.elapsedMs, onWarning })
  }

  function hasCertificate(host: string): boolean {
    return cache.certificates.has(host)
  }

  /**
   * Publishes the certificates. Listed hosts come first, in their order: the first certificate is
   * the default.
   */
  function publish(): void {
    const unlisted = policy === undefined ? [] : [...cache.certificates.keys()].sort()
    const pairs: Certificate[] = []
    for (const host of new Set([...hosts, ...unlisted])) {
      const pair = cache.certificates.get(host)?.pair
      if (pair !== undefined) pairs.push(pair)
    }
    onDemand?.changed()
    if (isSame(pairs, tls.pairs)) return
    try {
      tls.use(pairs)
    } catch (error) {
      log.error({ err: error }, 'new certificates rejected; the previous ones stay in use')
    }
  }

  function onSkew(skewMs: number): void {
    const wasSkewed = isSkewed
    isSkewed = Math.abs(skewMs) > SKEW_MAX_MS
    if (!isSkewed || wasSkewed) return
    const minutes = Math.round(Math.abs(skewMs) / 60_000)
    log.warn(
      `the clock of this machine is ${minutes} minutes ${skewMs > 0 ? 'behind' : 'ahead of'} ${new URL(url).host}: certificates may appear expired or not yet valid; correct the clock`,
    )
  }

  return {
    ...tls,
    get pairs() {
      return tls.pairs
    },
    challengeServer,
    work: manager.work,
    async close() {
      clearInterval(timer)
      const ended = manager.close()
      closing.abort()
      await challengeServer.close()
      await settlesWithin(ended, CLOSE_MS)
      cache.close()
    },
  }
}

/** Logs a warning unless it repeats the previous one. */
function createOnceLog(log: Log): (message: string) => void {
  let last = ''
  return (message) => {
    if (message !== last) log.warn(message)
    last = message
  }
}

function isSame(a: readonly Certificate[], b: readonly Certificate[]): boolean {
  return a.length === b.length && a.every((pair, i) => pair === b[i])
}
