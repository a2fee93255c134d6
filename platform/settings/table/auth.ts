import { freeText, SWITCH } from '../../../lib/values/value.ts'
import { AUTH_SOURCE } from '../parse/address.ts'
import { PASSWORD, PRIVATE_KEY } from '../parse/secret.ts'
import type { SettingTable } from '../setting.ts'

export interface AuthSettings {
  /** `none`, or the RPC proxy of a platform as `mx://host:port`. */
  readonly auth: string
  /** Account id; empty if none. */
  readonly authId: string
  readonly authSecret: string
  readonly forwardToken: boolean
  readonly forwardAccount: boolean
  /** If empty, a random password is generated. */
  readonly adminPassword: string
  readonly disableAdmin: boolean
  /** Key in PEM format. If empty, keys are generated and stored in the store. */
  readonly authPrivateKey: string
}

export const AUTH_SETTINGS: SettingTable<AuthSettings> = {
  auth: {
    ...AUTH_SOURCE,
    name: 'auth',
    description:
      'Source of access rules: none (all requests are allowed), or the RPC proxy of a platform as mx://host:port or mxs://host:port',
    default: 'none',
    only: 'api',
    live: false,
  },
  authId: {
    ...freeText('id'),
    name: 'auth_id',
    description:
      'Account that the gateway uses to read the rules and registry (mx://) of a platform; its secret is MX_AUTH_SECRET',
    default: '',
    unset: 'none',
    only: 'api',
    live: false,
  },
  authSecret: {
    ...freeText('secret'),
    name: 'auth_secret',
    description: 'Secret of the account auth_id',
    default: '',
    unset: 'none',
    only: 'api',
    notInFile: 'set MX_AUTH_SECRET instead',
    live: false,
  },
  forwardToken: {
    ...SWITCH,
    name: 'forward_token',
    description:
      'Also forward access tokens to proxied backends; services of the platform always receive them',
    default: 'false',
    live: true,
  },
  forwardAccount: {
    ...SWITCH,
    name: 'forward_account',
    description: 'Send the calling account to proxied backends in the Mx-Account header',
    default: 'false',
    live: true,
  },
  adminPassword: {
    ...PASSWORD,
    name: 'admin_password',
    description:
      'Password of the account admin, which is created on the first start; at least 8 characters',
    default: '',
    unset:
      'random, shown once on a terminal and stored in ~/.mx/admin_password; mx in profile test',
    only: 'server',
    notInFile: 'set MX_ADMIN_PASSWORD instead',
    live: false,
  },
  disableAdmin: {
    ...SWITCH,
    name: 'disable_admin',
    description: 'Do not create the account admin on the first start (also MX_AUTH_DISABLE_ADMIN)',
    default: 'false',
    variable: 'MX_AUTH_DISABLE_ADMIN',
    only: 'server',
    live: false,
  },
  authPrivateKey: {
    ...PRIVATE_KEY,
    name: 'auth_private_key',
    description:
      'Signing key of access tokens: Ed25519, PKCS #8 in PEM format, optionally base64-encoded; must be the same for all servers that share a store',
    default: '',
    unset: 'generated and rotated by the server, stored in the store',
    only: 'server',
    notInFile: 'set MX_AUTH_PRIVATE_KEY instead',
    live: false,
  },
}
