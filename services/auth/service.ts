import type { KeyObject } from 'node:crypto'
import { createLoginLimit } from '../../core/auth/token/login-limit.ts'
import { createSecretHasher, type SecretHasher } from '../../core/auth/token/secret-hash.ts'
import type { Account, AuthSource } from '../../core/contracts/auth.ts'
import type { Store } from '../../domain/store/store.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createAccountEndpoints } from './accounts/account-endpoints.ts'
import { type Accounts, createAccounts } from './accounts/accounts.ts'
import { createAdmitLogin } from './accounts/admit-login.ts'
import { auditAccounts } from './accounts/audited-accounts.ts'
import { type AuthQuotas, createAdmitAccount, NO_AUTH_QUOTAS } from './accounts/quotas.ts'
import { type AuditRecord, createAudit } from './audit.ts'
import { createAuthEndpoints } from './auth-endpoints.ts'
import { createSource } from './local-source.ts'
import { createAttemptLogin } from './login-throttle.ts'
import type { FindService } from './rules/find-mismatch.ts'
import { createRuleEndpoints } from './rules/rule-endpoints.ts'
import { createRules } from './rules/rules.ts'
import { createAttemptRefresh } from './tokens/refresh-throttle.ts'
import { openRevoked } from './tokens/revocation-store.ts'
import { type KeySealer, openSigningKeys } from './tokens/signing-keys.ts'
import { createTokens } from './tokens/tokens.ts'
import { createWatchers } from './watchers.ts'

const DESCRIPTION = 'Accounts, tokens and rules'

/** What the auth service is told. */
export interface AuthServiceOptions extends Omit<ServiceOptions, 'name'> {
  /** Keeps everything, in the table `auth` of the database `mx`. Not closed with the service. */
  readonly store: Store
  /** Encrypts the keys that tokens are signed with. @default they are kept as they are */
  readonly sealer?: KeySealer
  /** Signs tokens: Ed25519. @default pairs of keys are made, and kept in the store */
  readonly privateKey?: KeyObject
  /** Keeps the record of every change and every failed login; what cannot be kept is logged. @default nothing does */
  readonly audit?: (record: AuditRecord) => Maybe<void>
  /** Watchers at a time; one more is refused with 429, and from a tenth on whoever enforces no rules. @default 10000 */
  readonly maxWatchers?: number
  /** Looks up the services that rules name, for warnings. @default there are none */
  readonly findService?: FindService
  /** @default scrypt, about a tenth of a second */
  readonly hasher?: SecretHasher
  /** @default no limits */
  readonly quotas?: AuthQuotas
  /** Unix time. @default Date.now */
  readonly nowMs?: () => number
}

/** Accounts, rules and tokens of a platform, as a service of it. */
export interface AuthService {
  /** Not started yet. */
  readonly service: Service<object>
  /** For other parts of the server: what they change is in the audit as its own doing. */
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
 * Opens the service `auth` (specification: Authentication; reference 2), over a store.
 *
 * @throws {GatewayError} 503 when the store cannot be reached.
 */
export async function openAuthService(options: AuthServiceOptions): Promise<AuthService> {
  const { store, sealer, privateKey, maxWatchers = 10_000, nowMs = Date.now, ...more } = options
  const { audit: keep = () => {}, hasher = createSecretHasher('auth'), ...others } = more
  const { quotas = NO_AUTH_QUOTAS, findService = () => [], ...rest } = others
  const service = new Service({ metadata: { description: DESCRIPTION }, ...rest, name: 'auth' })
  const onWarning = (message: string): void => service.log.warn({}, message)
  const audit = createAudit({ log: service.log, keep, nowMs })
  const revoked = await openRevoked({ store, nowMs, onWarning })
  const keys = await openSigningKeys({
    ...{ store, nowMs, onWarning },
    onReplaced: (target) =>
      audit(undefined, 'key.rotate', { namespace: DEFAULT_NAMESPACE, target }),
    ...(sealer !== undefined && { sealer }),
    ...(privateKey !== undefined && { privateKey }),
  }).catch((error: unknown) => {
    revoked.close()
    throw error
  })
  const rules = createRules(store, quotas.rules)
  const accounts = createAccounts({ store, hasher, nowMs })
  const tokens = createTokens({ store, accounts, keys, revoked, nowMs })
  const source = createSource({ store, rules, keys, revoked })
  const watchers = createWatchers(maxWatchers)
  const attemptLogin = createAttemptLogin(createLoginLimit(nowMs), audit)
  const attemptRefresh = createAttemptRefresh({ tokens, audit, nowMs })
  const admitLogin = createAdmitLogin(rest.gate)
  const admitAccount = createAdmitAccount(store, quotas.accounts)
  const shared = { accounts, attemptLogin, watchers, audit }
  service
    .handle(
      'Auth',
      createAuthEndpoints({
        ...shared,
        ...{ attemptRefresh, admitLogin, admitAccount, tokens, keys, revoked },
      }),
    )
    .handle('Accounts', createAccountEndpoints(shared))
    .handle('Rules', createRuleEndpoints({ ...shared, rules, source, findService }))
  return {
    ...{ service, source },
    accounts: auditAccounts(accounts, audit),
    issue: tokens.issue,
    endStreams: watchers.close,
    async close() {
      watchers.close()
      await service.stop()
      keys.close()
      revoked.close()
    },
  }
}
