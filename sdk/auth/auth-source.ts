import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { isInvalidToken } from '../../core/auth/policy/decision.ts'
import { type Revocation, Revocations } from '../../core/auth/token/revocations.ts'
import type { AuthSource, Rule, Session } from '../../core/contracts/auth.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Client } from '../client/client.ts'
import { DEFAULT_NAMESPACE } from '../namespace.ts'

interface RulesMessage {
  readonly rules: readonly Rule[]
  /** True if the list continues in the next message. */
  readonly more?: boolean
}

interface TokensMessage {
  readonly keys: readonly (JsonWebKey & { readonly kid: string })[]
  readonly revoked: readonly Revocation[]
}

interface SessionMessage {
  /** `endsMs` is 0 if the key never expires. Absent for an invalid key. */
  readonly session?: Session
}

interface NamespacesMessage {
  readonly namespaces: readonly string[]
  /** True if the list continues in the next message. */
  readonly more?: boolean
}

/**
 * Rules, keys and API keys of a remote platform, watched through its `auth` service.
 *
 * @param namespace namespace of the client's account. Outside the platform's namespace, only the rules of that
 * namespace are available.
 */
export function createAuthSource(
  client: Client,
  namespace: string = DEFAULT_NAMESPACE,
): AuthSource {
  // Shared by all watches, so that it survives a restart of the watch.
  const revocations = new Revocations()
  return {
    watchRules(namespace, signal) {
      const request = { options: { namespace } }
      return restartOnExpiry(async function* () {
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
      })
    },

    watchNamespaces: (signal) =>
      namespace === DEFAULT_NAMESPACE
        ? restartOnExpiry(async function* () {
            const messages = client.stream<object, NamespacesMessage>(
              'auth',
              'Rules.WatchNamespaces',
              {},
              { signal },
            )
            let names = new Set<string>()
            for await (const message of messages) {
              for (const name of message.namespaces) names.add(name)
              if (message.more === true) continue
              yield names
              names = new Set()
            }
          })
        : yieldOnce(new Set([namespace]), signal),

    watchTokens: (signal) =>
      restartOnExpiry(async function* () {
        const messages = client.stream<object, TokensMessage>('auth', 'Auth.Watch', {}, { signal })
        for await (const { keys, revoked } of messages) {
          for (const revocation of revoked) revocations.add(revocation)
          yield { keys: toKeys(keys), isRevoked: (session) => revocations.isRevoked(session) }
        }
      }),

    async verifyApiKey({ id, hash }) {
      const request = { id, hash }
      const { session } = await client.call<SessionMessage>('auth', 'ApiKeys.Verify', request)
      return session && { ...session, endsMs: session.endsMs || Number.POSITIVE_INFINITY }
    },

    requestQuotas: {
      reserve: (reservation) => client.call('auth', 'RequestQuotas.Reserve', reservation),
      async release(release) {
        await client.call('auth', 'RequestQuotas.Release', release)
      },
    },
  }
}

/** Restarts a watch when its token expires. The new stream uses a new token and starts with the full state. */
async function* restartOnExpiry<T>(watch: () => AsyncIterable<T>): AsyncIterable<T> {
  for (;;) {
    let hasBegun = false
    try {
      for await (const value of watch()) {
        hasBegun = true
        yield value
      }
      return
    } catch (error) {
      if (!hasBegun || !(error instanceof GatewayError) || !isInvalidToken(error)) throw error
    }
  }
}

/** A watch of a constant value. */
async function* yieldOnce<T>(value: T, signal: AbortSignal): AsyncIterable<T> {
  yield value
  if (!signal.aborted) await once(signal, 'abort')
}

function toKeys(keys: TokensMessage['keys']): ReadonlyMap<string, KeyObject> {
  return new Map(keys.map((key) => [key.kid, createPublicKey({ key, format: 'jwk' })]))
}
