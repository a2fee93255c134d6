import { type Certificate, loadTls, type TlsSource } from '../../core/listener/tls/tls.ts'
import type { Store } from '../../domain/store/store.ts'
import type { SecretKeys } from '../acme/records.ts'
import type { Log } from '../process/log.ts'
import { SELF_SIGNED } from '../settings/parse/tls.ts'
import type { Settings } from '../settings/settings.ts'

/** Where files of whoever runs a gateway lie. */
export const HOME_FOLDER = '~/.mx'

/** What certificates that are no files of somebody else's are kept in. */
export interface TlsParts {
  /** Where those of ACME are, and what encrypts their keys. @default a store by the settings */
  readonly kept?: { readonly store: Store; readonly secretKeys: SecretKeys }
  /** Where a self-signed one is, may begin with `~/`; undefined: in no file. */
  readonly folder: string | undefined
  /** Served while the files of somebody else do not load, as of {@link loadTls}. @default nothing is */
  readonly last?: readonly Certificate[] | undefined
}

/**
 * Opens the certificates of listeners; undefined: none are asked for. Each kind is loaded by those only who use it.
 *
 * @throws {Error} with one line.
 */
export async function openTls(
  settings: Settings,
  log: Log,
  { kept, folder, last }: TlsParts,
): Promise<TlsSource | undefined> {
  const { enableTls, enableAcme, tlsCertFiles, tlsKeyFiles } = settings
  if (!enableTls) return undefined
  if (enableAcme) {
    if (kept === undefined) {
      const { openStandaloneAcme: openOwnAcme } = await import('../acme/open-standalone-acme.ts')
      return openOwnAcme(settings, log)
    }
    const { openAcme } = await import('../acme/open-acme.ts')
    return openAcme({ settings, log, ...kept })
  }
  if (tlsCertFiles[0] === SELF_SIGNED) {
    const { openSelfSigned } = await import('./self-signed.ts')
    return openSelfSigned({ folder, log })
  }
  const files = tlsCertFiles.map((certFile, i) => ({ certFile, keyFile: tlsKeyFiles[i]! }))
  const tls = loadTls(files, { last, warn: (message) => log.warn(message) })
  tls.watch()
  return tls
}

/** Reads the certificates again; one that is wrong is told as by {@link TlsSource.watch}. */
export function reloadTls(tls: Pick<TlsSource, 'reload'> | undefined, log: Log): void {
  try {
    tls?.reload()
  } catch (error) {
    log.warn(`${(error as Error).message}; the previous certificates stay in use`)
  }
}
