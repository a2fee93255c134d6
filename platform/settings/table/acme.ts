import { freeText, SWITCH } from '../../../lib/values/value.ts'
import { type Address, LISTEN_ADDRESS } from '../parse/address.ts'
import { ACME_HOSTS, DIRECTORY_URL, EMAIL_ADDRESS, PERMISSION_URL } from '../parse/tls.ts'
import type { SettingTable } from '../setting.ts'

export interface AcmeSettings {
  readonly enableAcme: boolean
  /** Host names in lower case. */
  readonly acmeHosts: readonly string[]
  /** URL; empty if none. */
  readonly acmeAsk: string
  readonly acmeDirectory: string
  /** Email address; empty if none. */
  readonly acmeEmail: string
  readonly acmeAddress: Address
  /** If empty, the certificate authorities of Node.js are trusted. */
  readonly acmeCaFile: string
  /** If empty, no external account is used. */
  readonly acmeEabKid: string
  readonly acmeEabKey: string
}

export const ACME_SETTINGS: SettingTable<AcmeSettings> = {
  enableAcme: {
    ...SWITCH,
    name: 'enable_acme',
    description:
      "Serve HTTPS with certificates from an ACME server, which are renewed automatically; agrees to the server's terms and takes precedence over tls_cert_file",
    default: 'false',
    live: false,
  },
  acmeHosts: {
    ...ACME_HOSTS,
    name: 'acme_hosts',
    description: 'Host names of the certificates; the first is the default',
    default: '',
    unset: 'any host, at most 10 new names per hour, unless acme_ask is set',
    live: false,
  },
  acmeAsk: {
    ...PERMISSION_URL,
    name: 'acme_ask',
    description:
      'URL that permits certificates for unlisted host names: requested with ?domain=<name>; status 200 permits the name',
    default: '',
    unset: 'determined by acme_hosts',
    live: false,
  },
  acmeDirectory: {
    ...DIRECTORY_URL,
    name: 'acme_directory',
    description: 'Directory URL of the ACME server',
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    live: false,
  },
  acmeEmail: {
    ...EMAIL_ADDRESS,
    name: 'acme_email',
    description: 'Email address of the ACME account, for notices about certificates',
    default: '',
    unset: 'none',
    live: false,
  },
  acmeAddress: {
    ...LISTEN_ADDRESS,
    name: 'acme_address',
    description:
      'Address of the HTTP challenge, which redirects other requests to HTTPS; the ACME server connects to port 80',
    default: ':80',
    live: false,
  },
  acmeCaFile: {
    ...freeText('file'),
    name: 'acme_ca_file',
    description: 'Certificate authority of a private ACME server, PEM',
    default: '',
    unset: 'certificate authorities of Node.js',
    live: false,
  },
  acmeEabKid: {
    ...freeText('id'),
    name: 'acme_eab_kid',
    description: 'Key id of an external account, if the ACME server requires one',
    default: '',
    unset: 'none',
    live: false,
  },
  acmeEabKey: {
    ...freeText('key'),
    name: 'acme_eab_key',
    description: 'HMAC key of the external account, base64url',
    default: '',
    unset: 'none',
    notInFile: 'set MX_ACME_EAB_KEY instead',
    live: false,
  },
}
