import { freeText, oneOf, SWITCH } from '../../../lib/values/value.ts'
import { CERTIFICATE_FILES, FILES } from '../parse/tls.ts'
import type { SettingTable } from '../setting.ts'

const CLIENT_AUTH_MODES = ['required', 'optional'] as const

export interface TlsSettings {
  /** Also true if `enableAcme` is set. */
  readonly enableTls: boolean
  /** Files, or only `self-signed`. */
  readonly tlsCertFiles: readonly string[]
  /** Key files in the order of `tlsCertFiles`, with the same length. */
  readonly tlsKeyFiles: readonly string[]
  /** If empty, no client certificates are requested. */
  readonly tlsClientCa: string
  readonly tlsClientAuth: (typeof CLIENT_AUTH_MODES)[number]
}

export const TLS_SETTINGS: SettingTable<TlsSettings> = {
  enableTls: {
    ...SWITCH,
    name: 'enable_tls',
    description:
      'Serve HTTPS with the certificates below, which are reloaded on SIGHUP and when the files change',
    default: 'false',
    live: false,
  },
  tlsCertFiles: {
    ...CERTIFICATE_FILES,
    name: 'tls_cert_file',
    description:
      'Certificate chains in PEM format, selected by server name (the first is the default), or self-signed for a development certificate in ~/.mx',
    default: '',
    live: false,
  },
  tlsKeyFiles: {
    ...FILES,
    name: 'tls_key_file',
    description: 'Private keys of the certificates in PEM format, in the same order',
    default: '',
    live: false,
  },
  tlsClientCa: {
    ...freeText('file'),
    name: 'tls_client_ca',
    description:
      'Certificate authorities of client certificates in PEM format, reloaded like the certificates; listener node only',
    default: '',
    live: false,
  },
  tlsClientAuth: {
    ...oneOf(CLIENT_AUTH_MODES),
    name: 'tls_client_auth',
    description: 'Whether clients must present a certificate',
    default: 'required',
    live: false,
  },
}
