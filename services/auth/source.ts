import type { AuthSource, TokenKnowledge } from '../../core/contracts/auth.ts'
import type { StoreListener } from '../../core/contracts/store.ts'
import type { Store } from '../../core/store/store.ts'
import { createEventFeed } from '../../sdk/event-feed.ts'
import { TABLE, toRulesHeadKey } from './records.ts'
import type { Revoked } from './revoked.ts'
import type { Rules } from './rules.ts'
import type { SigningKeys } from './signing-keys.ts'

export interface SourceOptions {
  readonly store: Store
  readonly rules: Rules
  readonly keys: SigningKeys
  readonly revoked: Revoked
}

const ID = 'auth'
/** What waits is one thing: that something is new. */
const NEWS = 'news'

/** What whoever enforces rules in this process gets them from. */
export function createSource({ store, rules, keys, revoked }: SourceOptions): AuthSource {
  return {
    watchRules: (namespace, signal) =>
      follow(signal, {
        read: () => rules.list(namespace, signal),
        async watch(onNews) {
          const head = toRulesHeadKey(namespace)
          const listener: StoreListener = {
            onEvent: ({ key }) => key === head && onNews(),
            onGap: onNews,
          }
          return store.watch(TABLE, head, listener)
        },
      }),

    watchTokens: (signal) =>
      follow<TokenKnowledge>(signal, {
        read: () => ({ keys: keys.all(), isRevoked: revoked.isRevoked }),
        watch(onNews) {
          const stopKeys = keys.onChange(onNews)
          const stopRevoked = revoked.onRevoked(onNews)
          return () => {
            stopKeys()
            stopRevoked()
          }
        },
      }),
  }
}

interface Followed<T> {
  readonly read: () => T | Promise<T>
  readonly watch: (onNews: () => void) => (() => void) | Promise<() => void>
}

/** What there is, at once and each time there is something new. */
async function* follow<T>(signal: AbortSignal, { read, watch }: Followed<T>): AsyncIterable<T> {
  let stop = (): void => {}
  const feed = createEventFeed<undefined>({ id: ID, maxWaiting: 1, onClose: () => stop() })
  const onNews = (): void => feed.push(NEWS, undefined)
  const end = (): void => void feed.return!()
  signal.addEventListener('abort', end)
  try {
    stop = await watch(onNews)
    if (signal.aborted) return
    onNews()
    for await (const _ of feed) yield await read()
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', end)
    stop()
  }
}
