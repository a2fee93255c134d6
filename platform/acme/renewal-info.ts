import type { CachedCertificate } from './certificate-cache.ts'
import type { RenewalWindow } from './client/client.ts'
import type { Clock } from './client/clock.ts'
import type { Directory } from './client/directory.ts'
import { pickTime, toCertificateId, toNextCheckMs } from './renewal.ts'

export interface RenewalWindowsOptions {
  readonly directory: Pick<Directory, 'readWindow'>
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly random: () => number
  /** Called for failed queries, which are retried later. */
  readonly onFailure: (host: string, error: Error) => void
}

/**
 * ACME renewal information (ARI, RFC 9773). The directory suggests a renewal window, which is early
 * if it is about to revoke a certificate.
 */
export interface RenewalWindows {
  /** Renewal time, Unix time in milliseconds. */
  readonly toRenewMs: (certificate: CachedCertificate) => number
  /** Fetches renewal windows that are due for a check. Never rejects. */
  readonly refresh: (certificates: Iterable<CachedCertificate>) => Promise<void>
  /**
   * Returns the id of the replaced certificate for the order (RFC 9773 §5), or undefined if the
   * directory does not support ARI.
   */
  readonly toReplacedId: (certificate: CachedCertificate | undefined) => string | undefined
}

interface CachedWindow {
  readonly cert: string
  /** Time of the next check on {@link Clock.elapsedMs}. */
  readonly nextCheckMs: number
  readonly picked?: {
    readonly id: string
    readonly window: RenewalWindow
    readonly renewMs: number
  }
}

export function createRenewalWindows({
  directory,
  clock,
  random,
  onFailure,
}: RenewalWindowsOptions): RenewalWindows {
  /** Renewal windows by host. */
  const windows = new Map<string, CachedWindow>()
  /** Fetches in flight by host. */
  const pending = new Map<string, Promise<void>>()

  function find({ host, cert }: CachedCertificate): CachedWindow | undefined {
    const cached = windows.get(host)
    return cached?.cert === cert ? cached : undefined
  }

  async function fetchWindow(certificate: CachedCertificate): Promise<CachedWindow> {
    const { host, cert } = certificate
    const previous = find(certificate)?.picked
    const fallback = {
      cert,
      nextCheckMs: clock.elapsedMs() + toNextCheckMs({}),
      ...(previous && { picked: previous }),
    }
    try {
      const id = previous?.id ?? (await toCertificateId(cert))
      const window = id === undefined ? undefined : await directory.readWindow(id)
      if (id === undefined || window === undefined) return fallback
      const renewMs = pickTime(window, previous, random)
      const nextCheckMs = clock.elapsedMs() + toNextCheckMs(window)
      return { cert, nextCheckMs, picked: { id, window, renewMs } }
    } catch (error) {
      onFailure(host, error as Error)
      return fallback
    }
  }

  function fetchOnce(certificate: CachedCertificate): Promise<void> {
    const { host } = certificate
    const running = pending.get(host)
    if (running !== undefined) return running
    const fetching = fetchWindow(certificate)
      .then((fetched) => void windows.set(host, fetched))
      .finally(() => pending.delete(host))
    pending.set(host, fetching)
    return fetching
  }

  return {
    toRenewMs: (certificate) => find(certificate)?.picked?.renewMs ?? certificate.renewMs,
    async refresh(certificates) {
      for (const certificate of [...certificates])
        if ((find(certificate)?.nextCheckMs ?? Number.NEGATIVE_INFINITY) <= clock.elapsedMs())
          await fetchOnce(certificate)
    },
    toReplacedId: (certificate) => certificate && find(certificate)?.picked?.id,
  }
}
