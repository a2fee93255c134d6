import type { ClientCa } from '../../../core/listener/tls/client-ca.ts'
import type { TlsSource } from '../../../core/listener/tls/tls.ts'
import type { Disposer } from '../../../lib/async/disposer.ts'
import { listOthers } from '../../config/listen/main-listener.ts'
import type { Configuration, ConfiguredListener } from '../../config/types.ts'
import type { Log } from '../../process/log.ts'
import type { Address } from '../../settings/parse/address.ts'
import type { Settings } from '../../settings/settings.ts'
import { HOME_FOLDER, openTls } from '../../tls/open.ts'
import { openClientCa } from './choose-listener.ts'

/** An additional listener in `listen:`. */
export interface AdditionalListener {
  readonly name: string
  readonly address: Address
  readonly source: string
  readonly tls: TlsSource | undefined
  readonly clientCa: ClientCa | undefined
}

/**
 * Opens the certificates of the additional listeners.
 *
 * @param main certificates of the main listener, which other listeners with ACME share.
 * @param folder folder of the self-signed certificate; undefined to store it in memory.
 * @throws {Error} with a one-line message.
 */
export async function openAdditionalListeners(
  { settings, config }: Configuration,
  main: TlsSource | undefined,
  log: Log,
  closing: Disposer,
  folder: string | undefined = HOME_FOLDER,
): Promise<readonly AdditionalListener[]> {
  const opened: AdditionalListener[] = []
  for (const { name, address, tls, at } of listOthers(config.listen)) {
    const certificates =
      tls === undefined || tls.hasAcme
        ? undefined
        : await openTls(toTlsSettings(settings, tls), log, { folder })
    closing.add(() => certificates?.close())
    const clientCa = tls && openClientCa(toTlsSettings(settings, tls), log)
    closing.add(() => clientCa?.close())
    opened.push({ name, address, source: at, tls: tls?.hasAcme ? main : certificates, clientCa })
  }
  return opened
}

function toTlsSettings(
  settings: Settings,
  { certFiles, keyFiles, clientCa, clientAuth }: NonNullable<ConfiguredListener['tls']>,
): Settings {
  return {
    ...settings,
    ...{ enableTls: true, enableAcme: false, tlsCertFiles: certFiles, tlsKeyFiles: keyFiles },
    ...{ tlsClientCa: clientCa, tlsClientAuth: clientAuth },
  }
}
