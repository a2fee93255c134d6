import type { Revocation } from '../../../core/auth/token/revocations.ts'
import { follow } from '../observable-value.ts'
import { type PublicJwk, toJwks } from './jwks.ts'
import type { Revoked } from './revocation-store.ts'
import type { SigningKeys } from './signing-keys.ts'

/** What tokens are judged by, as it is told to who watches. */
export interface TokenState {
  /** All of them. */
  readonly keys: readonly PublicJwk[]
  /** Those that have not been told before. */
  readonly revoked: readonly Revocation[]
}

export interface StreamTokenStateOptions {
  readonly keys: SigningKeys
  readonly revoked: Revoked
  readonly signal: AbortSignal
  /** Which are told. */
  readonly isFor: (revocation: Revocation) => boolean
}

/** Revocations of a message. */
const PAGE = 1000

/** What tokens are judged by, at once and after each change, until `signal` aborts. */
export async function* streamTokenState(
  options: StreamTokenStateOptions,
): AsyncIterable<TokenState> {
  const { keys, revoked, signal, isFor } = options
  const waiting: Revocation[] = []
  const news = follow<TokenState>(signal, {
    read: () => ({ keys: toJwks(keys.all()), revoked: waiting.splice(0) }),
    watch(onUpdate) {
      waiting.push(...revoked.list().filter(isFor))
      const stopKeys = keys.onChange(onUpdate)
      const stopRevoked = revoked.onRevoked((added) => {
        const told = added.filter(isFor)
        waiting.push(...told)
        if (told.length > 0) onUpdate()
      })
      return () => {
        stopKeys()
        stopRevoked()
      }
    },
  })
  for await (const { keys, revoked } of news) {
    yield { keys, revoked: revoked.slice(0, PAGE) }
    for (let at = PAGE; at < revoked.length; at += PAGE)
      yield { keys, revoked: revoked.slice(at, at + PAGE) }
  }
}
