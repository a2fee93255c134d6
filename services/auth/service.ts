import type { KeyObject } from 'node:crypto'
import type { Account, AuthSource } from '../../core/contracts/auth.ts'
import type { Store } from '../../core/store/store.ts'
import { Service, type ServiceOptions } from '../../sdk/service.ts'
import { type Accounts, createAccounts } from './accounts.ts'
import { openRevoked } from './revoked.ts'
import { createRules } from './rules.ts'
import { createSecretHasher } from './secret-hash.ts'
import { type KeySealer, openSigningKeys } from './signing-keys.ts'
import { createSource } from './source.ts'
import { createTokens } from './tokens.ts'

/** What the auth service is told. */
export interface AuthServiceOptions extends Omit<ServiceOptions, 'name'> {
  /** Keeps everything, in the table `auth` of the database `mx`. Not closed with the service. */
  readonly store: Store
  /** Encrypts the keys that tokens are signed with. @default they are kept as they are */
  readonly sealer?: KeySealer
  /** Signs tokens: Ed25519. @default pairs of keys are made, and kept in the store */
  readonly privateKey?: KeyObject
  /** Unix time. @default Date.now */
  readonly nowMs?: () => number
}

/** Accounts, rules and tokens of a platform, as a service of it. */
export interface AuthService {
  /** Not started yet. */
  readonly service: Service<object>
  readonly accounts: Accounts
  /** What whoever enforces rules in this process gets them from. */
  readonly source: AuthSource
  /** An access token that stands for an account, whether or not it is kept. */
  readonly issue: (account: Account) => Promise<string>
  /** Ends the streams of those who watch, and takes no more of them; other calls go on. */
  readonly endStreams: () => void
  /** Ends the streams of those who watch, and stops the service. */
  readonly close: () => Promise<void>
}

/**
 * The service `auth` (specification: Authentication; reference 2), over a store.
 *
 * @throws {GatewayError} 503 when the store cannot be reached.
 */
export async function openAuthService(options: AuthServiceOptions): Promise<AuthService> {
  const { store, sealer, privateKey, nowMs = Date.now, ...rest } = options
  const service = new Service({ ...rest, name: 'auth' })
  const onWarning = (message: string): void => service.log.warn({}, message)
  const revoked = await openRevoked({ store, nowMs, onWarning })
  const keys = await openSigningKeys({
    ...{ store, nowMs, onWarning },
    ...(sealer !== undefined && { sealer }),
    ...(privateKey !== undefined && { privateKey }),
  })
  const rules = createRules(store)
  const accounts = createAccounts({ store, hasher: createSecretHasher('auth'), nowMs })
  const tokens = createTokens({ store, accounts, keys, revoked, nowMs })
  return {
    service,
    accounts,
    source: createSource({ store, rules, keys, revoked }),
    issue: tokens.issue,
    endStreams() {},
    async close() {
      await service.stop()
      keys.close()
      revoked.close()
    },
  }
}
