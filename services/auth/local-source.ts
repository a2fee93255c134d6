import type { AuthSource, TokenKnowledge } from '../../core/contracts/auth.ts'
import type { StoreListener } from '../../core/contracts/store.ts'
import type { Store } from '../../domain/store/store.ts'
import { follow } from './observable-value.ts'
import { RULES_HEADS_PREFIX, TABLE, toRulesHeadKey } from './records.ts'
import type { Rules } from './rules/rules.ts'
import type { Revoked } from './tokens/revocation-store.ts'
import type { SigningKeys } from './tokens/signing-keys.ts'

export interface SourceOptions {
  readonly store: Store
  readonly rules: Rules
  readonly keys: SigningKeys
  readonly revoked: Revoked
}

/** Rules and keys for enforcement in this process. */
export function createSource({ store, rules, keys, revoked }: SourceOptions): AuthSource {
  return {
    watchRules: (namespace, signal) =>
      follow(signal, {
        read: () => rules.list(namespace, signal),
        async watch(onUpdate) {
          const head = toRulesHeadKey(namespace)
          const listener: StoreListener = {
            onEvent: ({ key }) => key === head && onUpdate(),
            onMissedEvents: onUpdate,
          }
          return store.watch(TABLE, head, listener)
        },
      }),

    watchNamespaces(signal) {
      let known = new Set<string>()
      return follow<ReadonlySet<string>>(signal, {
        async read() {
          known = new Set(await rules.namespaces(signal))
          return known
        },
        // Each change of rules writes a head; only the first one of a namespace changes the list.
        watch: (onUpdate) =>
          store.watch(TABLE, RULES_HEADS_PREFIX, {
            onEvent: ({ key }) => known.has(key.slice(RULES_HEADS_PREFIX.length)) || onUpdate(),
            onMissedEvents: onUpdate,
          }),
      })
    },

    watchTokens: (signal) =>
      follow<TokenKnowledge>(signal, {
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
  }
}
