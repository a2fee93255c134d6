import { freeText, SWITCH } from '../../../lib/values/value.ts'
import { AUTH_SOURCE } from '../parse/address.ts'
import { PASSWORD, PRIVATE_KEY } from '../parse/secret.ts'
import type { SettingTable } from '../setting.ts'

export interface AuthSettings {
  /** `none`, or the RPC proxy of a platform, `mx://host:port`. */
  readonly auth: string
  /** Empty if none. */
  readonly authId: string
  readonly authSecret: string
  readonly forwardToken: boolean
  readonly forwardAccount: boolean
  /** Empty: a random one. */
  readonly adminPassword: string
  readonly disableAdmin: boolean
  /** PEM; empty: generated keys, in the store. */
  readonly authPrivateKey: string
}

export const AUTH_SETTINGS: SettingTable<AuthSettings> = {
  auth: {
    ...AUTH_SOURCE,
    name: 'auth',
    description:
      'Source of access rules: none (every request is allowed), or a platform, mx://host:port or mxs://host:port of its RPC proxy',
    default: 'none',
    only: 'api',
    live: false,
  },
  authId: {
    ...freeText('id'),
    name: 'auth_id',
    description:
      'Account with which the gateway reads rules and registry (mx://) of a platform; MX_AUTH_SECRET is its secret',
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
      'Forward access tokens to proxied backends, too; services of the platform always receive them',
    default: 'false',
    live: true,
  },
  forwardAccount: {
    ...SWITCH,
    name: 'forward_account',
    description: 'Send the calling account to proxied backends, in the header Mx-Account',
    default: 'false',
    live: true,
  },
  adminPassword: {
    ...PASSWORD,
    name: 'admin_password',
    description: 'Password of the account admin, created at the first start; at least 8 characters',
    default: '',
    unset:
      'a random one, shown once on a terminal, and in ~/.mx/admin_password; mx in profile test',
    only: 'server',
    notInFile: 'set MX_ADMIN_PASSWORD instead',
    live: false,
  },
  disableAdmin: {
    ...SWITCH,
    name: 'disable_admin',
    description: 'Create no account admin at the first start (also MX_AUTH_DISABLE_ADMIN)',
    default: 'false',
    variable: 'MX_AUTH_DISABLE_ADMIN',
    only: 'server',
    live: false,
  },
  authPrivateKey: {
    ...PRIVATE_KEY,
    name: 'auth_private_key',
    description:
      'Signing key of access tokens: Ed25519, PKCS #8 in PEM, optionally in base64; the same for all servers of a store',
    default: '',
    unset: 'generated and rotated by the server, in the store',
    only: 'server',
    notInFile: 'set MX_AUTH_PRIVATE_KEY instead',
    live: false,
  },
}
