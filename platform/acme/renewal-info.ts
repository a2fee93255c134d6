import type { CachedCertificate } from './certificate-cache.ts'
import type { RenewalWindow } from './client/client.ts'
import type { Clock } from './client/clock.ts'
import type { Directory } from './client/directory.ts'
import { pickTime, toCertificateId, toNextCheckMs } from './renewal.ts'

export interface WindowsOptions {
  readonly directory: Pick<Directory, 'readWindow'>
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly random: () => number
  /** Told why a directory does not say; it is asked again later. */
  readonly onFailure: (host: string, error: Error) => void
}

/** When directories want certificates to be renewed (RFC 9773): sooner, when they have to revoke them. */
export interface Windows {
  /** When to renew, unix time in milliseconds. */
  readonly toRenewMs: (certificate: CachedCertificate) => number
  /** Asks for the windows that were not asked for lately. Never rejects. */
  readonly ask: (certificates: Iterable<CachedCertificate>) => Promise<void>
  /** What an order that replaces a certificate says it does; undefined: the directory does not want to know. */
  readonly toReplaced: (certificate: CachedCertificate | undefined) => string | undefined
}

interface Asked {
  readonly cert: string
  /** By the clock that waits. */
  readonly askAgainMs: number
  readonly picked?: {
    readonly id: string
    readonly window: RenewalWindow
    readonly renewMs: number
  }
}

export function createWindows({ directory, clock, random, onFailure }: WindowsOptions): Windows {
  /** By host. */
  const asked = new Map<string, Asked>()
  /** By host. */
  const asking = new Map<string, Promise<void>>()

  function find({ host, cert }: CachedCertificate): Asked | undefined {
    const found = asked.get(host)
    return found?.cert === cert ? found : undefined
  }

  async function askOne(certificate: CachedCertificate): Promise<Asked> {
    const { host, cert } = certificate
    const before = find(certificate)?.picked
    const unknown = {
      cert,
      askAgainMs: clock.elapsedMs() + toNextCheckMs({}),
      ...(before && { picked: before }),
    }
    try {
      const id = before?.id ?? (await toCertificateId(cert))
      const window = id === undefined ? undefined : await directory.readWindow(id)
      if (id === undefined || window === undefined) return unknown
      const renewMs = pickTime(window, before, random)
      const askAgainMs = clock.elapsedMs() + toNextCheckMs(window)
      return { cert, askAgainMs, picked: { id, window, renewMs } }
    } catch (error) {
      onFailure(host, error as Error)
      return unknown
    }
  }

  function askOnce(certificate: CachedCertificate): Promise<void> {
    const { host } = certificate
    const under = asking.get(host)
    if (under !== undefined) return under
    const now = askOne(certificate)
      .then((answer) => void asked.set(host, answer))
      .finally(() => asking.delete(host))
    asking.set(host, now)
    return now
  }

  return {
    toRenewMs: (certificate) => find(certificate)?.picked?.renewMs ?? certificate.renewMs,
    async ask(certificates) {
      for (const certificate of [...certificates])
        if ((find(certificate)?.askAgainMs ?? Number.NEGATIVE_INFINITY) <= clock.elapsedMs())
          await askOnce(certificate)
    },
    toReplaced: (certificate) => certificate && find(certificate)?.picked?.id,
  }
}
