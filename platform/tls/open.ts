import { type Certificate, loadTls, type TlsSource } from '../../core/listener/tls/tls.ts'
import type { Store } from '../../domain/store/store.ts'
import type { SecretKeys } from '../acme/records.ts'
import type { Log } from '../process/log.ts'
import { SELF_SIGNED } from '../settings/parse/tls.ts'
import type { Settings } from '../settings/settings.ts'

/** Folder for the files of a gateway without a server. */
export const HOME_FOLDER = '~/.mx'

export interface TlsParts {
  /** Store and encryption keys for ACME certificates. @default a store chosen by the settings */
  readonly acme?: { readonly store: Store; readonly secretKeys: SecretKeys }
  /**
   * Folder of the self-signed certificate, which may start with `~/`; undefined to store it in
   * memory.
   */
  readonly folder: string | undefined
  /** Certificates to serve while the certificate files are invalid, see {@link loadTls}. */
  readonly last?: readonly Certificate[] | undefined
}

/**
 * Opens the certificates of listeners. Returns undefined if TLS is disabled. The code for each kind
 * is imported on demand.
 *
 * @throws {Error} with a one-line message.
 */
export async function openTls(
  settings: Settings,
  log: Log,
  { acme, folder, last }: TlsParts,
): Promise<TlsSource | undefined> {
  const { enableTls, enableAcme, tlsCertFiles, tlsKeyFiles } = settings
  if (!enableTls) return undefined
  if (enableAcme) {
    if (acme === undefined) {
      const { openStandaloneAcme } = await import('../acme/open-standalone-acme.ts')
      return openStandaloneAcme(settings, log)
    }
    const { openAcme } = await import('../acme/open-acme.ts')
    return openAcme({ settings, log, ...acme })
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

/** Reloads the certificates. Errors are logged as in {@link TlsSource.watch}. */
export function reloadTls(tls: Pick<TlsSource, 'reload'> | undefined, log: Log): void {
  try {
    tls?.reload()
  } catch (error) {
    log.warn(`${(error as Error).message}; the previous certificates stay in use`)
  }
}
