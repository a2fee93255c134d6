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
import { createApiKeyEndpoints } from './api-keys/api-key-endpoints.ts'
import { createApiKeys } from './api-keys/api-keys.ts'
import { type AuditRecord, createAudit } from './audit.ts'
import { createAuthEndpoints } from './auth-endpoints.ts'
import { createSource } from './local-source.ts'
import { createAttemptLogin } from './login-throttle.ts'
import { createQuotaEndpoints } from './request-quotas/quota-endpoints.ts'
import { createRequestQuotas, type QuotaEvent } from './request-quotas/request-quotas.ts'
import type { FindService } from './rules/find-mismatch.ts'
import { createRuleEndpoints } from './rules/rule-endpoints.ts'
import { createRules } from './rules/rules.ts'
import { createExchangeRefreshToken } from './tokens/exchange-refresh-token.ts'
import { openRevoked } from './tokens/revocation-store.ts'
import { type KeySealer, openSigningKeys } from './tokens/signing-keys.ts'
import { createTokens } from './tokens/tokens.ts'
import { createWatchers } from './watchers.ts'

const DESCRIPTION = 'Accounts, tokens and rules'

export interface AuthServiceOptions extends Omit<ServiceOptions, 'name'> {
  /**
   * Stores all data in the `auth` table of the `mx` database. It is not closed with the service.
   */
  readonly store: Store
  /** Encrypts the stored signing keys. @default stored unencrypted */
  readonly sealer?: KeySealer
  /** Ed25519 key that signs tokens. @default key pairs are generated and stored */
  readonly privateKey?: KeyObject
  /**
   * Stores audit records of changes and failed logins. If it fails, the record is logged.
   *
   * @default no-op
   */
  readonly audit?: (record: AuditRecord) => Maybe<void>
  /**
   * Publishes an event about a request quota. If it fails, the event is logged.
   *
   * @default no-op
   */
  readonly onQuota?: (event: QuotaEvent) => Maybe<void>
  /**
   * Maximum number of watchers; further watchers are rejected with 429. Nine tenths are reserved
   * for watchers that enforce rules.
   *
   * @default 10000
   */
  readonly maxWatchers?: number
  /** Looks up the services named in rules, for warnings. @default none */
  readonly findService?: FindService
  /** @default scrypt, about 100 ms */
  readonly hasher?: SecretHasher
  /** @default no limits */
  readonly quotas?: AuthQuotas
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
}

/** The built-in `auth` service. */
export interface AuthService {
  /** A service that has not been started yet. */
  readonly service: Service<object>
  /** Accounts for other server components. Changes are audited as made by the server. */
  readonly accounts: Accounts
  /** Source of rules and keys for enforcement in this process. */
  readonly source: AuthSource
  /** Issues an access token for an account, which need not be stored. */
  readonly issue: (account: Account) => Promise<string>
  /** Ends watches and rejects new ones. Other calls continue. */
  readonly endStreams: () => void
  /** Ends watches and stops the service. */
  readonly close: () => Promise<void>
}

/**
 * Creates the `auth` service (specification: Authentication; reference 2).
 *
 * @throws {GatewayError} 503 if the store is unavailable.
 */
export async function openAuthService(options: AuthServiceOptions): Promise<AuthService> {
  const { store, sealer, privateKey, maxWatchers = 10_000, nowMs = Date.now, ...more } = options
  const { audit: keep = () => {}, hasher = createSecretHasher('auth'), ...otherOptions } = more
  const { quotas = NO_AUTH_QUOTAS, findService = () => [], ...rest } = otherOptions
  const { onQuota = () => {}, ...serviceOptions } = rest
  const service = new Service({
    metadata: { description: DESCRIPTION },
    ...serviceOptions,
    name: 'auth',
  })
  const onWarning = (message: string): void => service.log.warn({}, message)
  const audit = createAudit({ log: service.log, store: keep, nowMs })
  const onQuotaEvent = async (event: QuotaEvent): Promise<void> => {
    try {
      await onQuota(event)
    } catch (err) {
      service.log.warn({ ...event, err }, 'cannot publish quota event')
    }
  }
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
  const apiKeys = createApiKeys({ store, accounts, nowMs })
  const requestQuotas = createRequestQuotas({ store, nowMs, onEvent: onQuotaEvent })
  const source = createSource({ store, rules, keys, revoked, apiKeys, requestQuotas })
  const watchers = createWatchers(maxWatchers)
  const attemptLogin = createAttemptLogin(createLoginLimit(nowMs), audit)
  const exchangeRefreshToken = createExchangeRefreshToken({ tokens, audit, nowMs })
  const admitLogin = createAdmitLogin(serviceOptions.authorizer)
  const admitAccount = createAdmitAccount(store, quotas.accounts)
  const shared = { accounts, attemptLogin, watchers, audit }
  service
    .handle(
      'Auth',
      createAuthEndpoints({
        ...shared,
        ...{ exchangeRefreshToken, admitLogin, admitAccount, tokens, keys, revoked },
      }),
    )
    .handle('Accounts', createAccountEndpoints(shared))
    .handle('ApiKeys', createApiKeyEndpoints({ ...shared, apiKeys }))
    .handle('RequestQuotas', createQuotaEndpoints({ ...shared, requestQuotas }))
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
