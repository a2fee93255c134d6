import type { Revocation } from '../../../core/auth/token/revocations.ts'
import { streamValue } from '../observable-value.ts'
import { type PublicJwk, toJwks } from './jwks.ts'
import type { Revoked } from './revocation-store.ts'
import type { SigningKeys } from './signing-keys.ts'

/** State for verifying tokens, sent in watch messages. */
export interface TokenState {
  readonly keys: readonly PublicJwk[]
  /** Revocations since the last message. */
  readonly revoked: readonly Revocation[]
}

export interface StreamTokenStateOptions {
  readonly keys: SigningKeys
  readonly revoked: Revoked
  readonly signal: AbortSignal
  /** Returns whether a revocation is sent. */
  readonly isVisible: (revocation: Revocation) => boolean
}

/** Maximum number of revocations per message. */
const PAGE = 1000

/** Yields the state immediately and after each change until `signal` is aborted. */
export async function* streamTokenState(
  options: StreamTokenStateOptions,
): AsyncIterable<TokenState> {
  const { keys, revoked, signal, isVisible } = options
  const pending: Revocation[] = []
  const states = streamValue<TokenState>(signal, {
    read: () => ({ keys: toJwks(keys.all()), revoked: pending.splice(0) }),
    watch(onUpdate) {
      pending.push(...revoked.list().filter(isVisible))
      const stopKeys = keys.onChange(onUpdate)
      const stopRevoked = revoked.onRevoked((added) => {
        const matching = added.filter(isVisible)
        pending.push(...matching)
        if (matching.length > 0) onUpdate()
      })
      return () => {
        stopKeys()
        stopRevoked()
      }
    },
  })
  for await (const { keys, revoked } of states) {
    yield { keys, revoked: revoked.slice(0, PAGE) }
    for (let at = PAGE; at < revoked.length; at += PAGE)
      yield { keys, revoked: revoked.slice(at, at + PAGE) }
  }
}
