import type { AuthSource, TokenKnowledge } from '../../core/contracts/auth.ts'
import type { RequestQuotas } from '../../core/contracts/request-quotas.ts'
import type { StoreListener } from '../../core/contracts/store.ts'
import type { Store } from '../../domain/store/store.ts'
import type { ApiKeys } from './api-keys/api-keys.ts'
import { streamValue } from './observable-value.ts'
import { AUTH_TABLE, RULES_HEADS_PREFIX, toRulesHeadKey } from './records.ts'
import type { Rules } from './rules/rules.ts'
import type { Revoked } from './tokens/revocation-store.ts'
import type { SigningKeys } from './tokens/signing-keys.ts'

export interface SourceOptions {
  readonly store: Store
  readonly rules: Rules
  readonly keys: SigningKeys
  readonly revoked: Revoked
  readonly apiKeys: Pick<ApiKeys, 'verify'>
  readonly requestQuotas: RequestQuotas
}

/** Source of rules and keys for enforcement in this process. */
export function createSource({
  store,
  rules,
  keys,
  revoked,
  apiKeys,
  requestQuotas,
}: SourceOptions): AuthSource {
  return {
    watchRules: (namespace, signal) =>
      streamValue(signal, {
        read: () => rules.list(namespace, signal),
        async watch(onUpdate) {
          const head = toRulesHeadKey(namespace)
          const listener: StoreListener = {
            onEvent: ({ key }) => key === head && onUpdate(),
            onMissedEvents: onUpdate,
          }
          return store.watch(AUTH_TABLE, head, listener)
        },
      }),

    watchNamespaces(signal) {
      let names = new Set<string>()
      return streamValue<ReadonlySet<string>>(signal, {
        async read() {
          names = new Set(await rules.namespaces(signal))
          return names
        },
        // Each change to rules writes a head record. Only the first one in a namespace changes the
        // list.
        watch: (onUpdate) =>
          store.watch(AUTH_TABLE, RULES_HEADS_PREFIX, {
            onEvent: ({ key }) => names.has(key.slice(RULES_HEADS_PREFIX.length)) || onUpdate(),
            onMissedEvents: onUpdate,
          }),
      })
    },

    watchTokens: (signal) =>
      streamValue<TokenKnowledge>(signal, {
        read: () => ({ keys: keys.all(), isRevoked: revoked.isRevoked }),
        watch(onUpdate) {
          const stopKeys = keys.onChange(onUpdate)
          const stopRevoked = revoked.onRevoked(onUpdate)
          return () => {
            stopKeys()
            stopRevoked()
          }
        },
      }),

    verifyApiKey: apiKeys.verify,
    requestQuotas,
  }
}
