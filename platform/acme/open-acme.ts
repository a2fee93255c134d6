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
import { createWindows } from './renewal-info.ts'

export interface AcmeOptions {
  readonly settings: Settings
  /** Shared by all gateways that are to have the same certificates. */
  readonly store: Store
  readonly secretKeys: SecretKeys
  readonly log: Log
  /** Unix time. @default Date.now */
  readonly nowMs?: () => number
  /** Milliseconds since some moment, for waiting. @default performance.now */
  readonly elapsedMs?: () => number
  /** From 0 to 1. @default Math.random */
  readonly random?: () => number
  /** Milliseconds from one look for what is due to the next. @default 10000 */
  readonly checkMs?: number
  /** As of `TurnOptions`. @default 60000 */
  readonly holdMs?: number
  /** As of `AcmeClientOptions`. */
  readonly pollMs?: number
}

/** Certificates that come by themselves. */
export interface Acme extends TlsSource {
  readonly door: Pick<HttpChallengeServer, 'port'>
  /** Looks now for what is due. Resolves when that is done. */
  readonly work: () => Promise<void>
}

const CLOSE_MS = 2000
/** What clocks may be apart. */
const SKEW_MAX_MS = 5 * 60_000

/**
 * Serves the certificates in the store, and orders those that are missing or near their end. What fails is logged, and tried again.
 *
 * @throws {Error} with one line, when the file of authorities or the store cannot be read.
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

  const ask = openAsk()
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
    onSkew: tellSkew,
  })
  const picture = await openCertificateCache({
    ...{ store, scope, secretKeys, clock, onWarning },
    onChange: publish,
  })
  const windows = createWindows({
    ...{ directory, clock, random },
    onFailure: (host, error) =>
      log.debug({ host, reason: error.message }, 'the directory does not say when to renew'),
  })
  const keeper = createCertificateManager({
    ...{ store, scope, holder: randomUUID(), holdMs, clock },
    ...{ picture, directory, windows, secretKeys, hosts, ask, random, log },
  })
  const onDemand: OnDemand | undefined =
    ask &&
    createOnDemand({
      ask,
      has,
      isTaken: keeper.isTaken,
      isElsewhere: keeper.isElsewhere,
      order: keeper.want,
    })
  publish()
  const door = await openHttpChallengeServer({
    address: settings.acmeAddress,
    findToken: directory.findToken,
    async hasHost(host) {
      if (listed.has(host)) return true
      await onDemand?.request(host)
      return has(host)
    },
    httpsPort: settings.address.port,
    log,
  })
  const timer = setInterval(() => void keeper.work(), checkMs).unref()
  void keeper.work()

  /** Undefined: hosts that are not listed have no certificate. */
  function openAsk(): OnDemandPolicy | undefined {
    if (settings.acmeAsk !== '')
      return createOnDemandPolicy({ url: settings.acmeAsk, onError: onWarning })
    if (hosts.length > 0) return undefined
    log.warn(
      'ACME orders certificates for any host name that clients ask for, at most 10 new names an hour; list hosts in acme_hosts, or set acme_ask',
    )
    return createHourlyLimit({ has, elapsedMs: clock.elapsedMs, onWarning })
  }

  function has(host: string): boolean {
    return picture.certificates.has(host)
  }

  /** Those of the hosts that are listed come first, in their order: the first of all is the default. */
  function publish(): void {
    const others = ask === undefined ? [] : [...picture.certificates.keys()].sort()
    const pairs: Certificate[] = []
    for (const host of new Set([...hosts, ...others])) {
      const pair = picture.certificates.get(host)?.pair
      if (pair !== undefined) pairs.push(pair)
    }
    onDemand?.changed()
    if (isSame(pairs, tls.pairs)) return
    try {
      tls.use(pairs)
    } catch (error) {
      log.error({ err: error }, 'new certificates cannot be used; the previous ones stay in use')
    }
  }

  function tellSkew(skewMs: number): void {
    const wasSkewed = isSkewed
    isSkewed = Math.abs(skewMs) > SKEW_MAX_MS
    if (!isSkewed || wasSkewed) return
    const minutes = Math.round(Math.abs(skewMs) / 60_000)
    log.warn(
      `the clock of this machine is ${minutes} minutes ${skewMs > 0 ? 'behind' : 'ahead of'} that of ${new URL(url).host}: certificates may seem expired or not valid yet; set it right`,
    )
  }

  return {
    ...tls,
    get pairs() {
      return tls.pairs
    },
    door,
    work: keeper.work,
    async close() {
      clearInterval(timer)
      const ended = keeper.close()
      closing.abort()
      await door.close()
      await settlesWithin(ended, CLOSE_MS)
      picture.close()
    },
  }
}

/** Warns once of what stays as it is. */
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
