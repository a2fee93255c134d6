import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { type Revocation, Revocations } from '../core/auth/revocations.ts'
import type { AuthSource, Rule } from '../core/contracts/auth.ts'
import type { Client } from './client.ts'

interface RulesMessage {
  readonly rules: readonly Rule[]
  /** The list goes on in the next message. */
  readonly more?: boolean
}

interface TokensMessage {
  readonly keys: readonly (JsonWebKey & { readonly kid: string })[]
  readonly revoked: readonly Revocation[]
}

/** Rules and keys of a platform elsewhere, from its service `auth`: for whoever enforces them far away from it. */
export function createAuthSource(client: Client): AuthSource {
  return {
    async *watchRules(namespace, signal) {
      const request = { options: { namespace } }
      const messages = client.stream<object, RulesMessage>('auth', 'Rules.Watch', request, {
        signal,
      })
      let rules: Rule[] = []
      for await (const message of messages) {
        rules.push(...message.rules)
        if (message.more === true) continue
        yield rules
        rules = []
      }
    },

    async *watchTokens(signal) {
      const messages = client.stream<object, TokensMessage>('auth', 'Auth.Watch', {}, { signal })
      // Of this watch: it tells them all at its beginning.
      const revocations = new Revocations()
      for await (const { keys, revoked } of messages) {
        for (const revocation of revoked) revocations.add(revocation)
        yield { keys: toKeys(keys), isRevoked: (session) => revocations.isRevoked(session) }
      }
    },
  }
}

function toKeys(keys: TokensMessage['keys']): ReadonlyMap<string, KeyObject> {
  return new Map(keys.map((key) => [key.kid, createPublicKey({ key, format: 'jwk' })]))
}
