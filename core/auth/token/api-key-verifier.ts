import { LRUCache } from 'lru-cache'
import type { AuthSource, PresentedApiKey, Session } from '../../contracts/auth.ts'
import { GatewayError } from '../../errors.ts'
import { parseApiKey } from './api-key.ts'
import { TokenError } from './token-error.ts'

export interface ApiKeyVerifierOptions {
  readonly verify: NonNullable<AuthSource['verifyApiKey']>
  readonly isRevoked: (session: Session) => boolean
  /** Called with each verified key, before its callers receive the session. */
  readonly onVerified: (key: string, session: Session) => void
  /** Unix time in milliseconds. */
  readonly nowMs: () => number
}

/** Maximum number of concurrent verifications. A flood of invalid keys must not overload the auth service. */
const CONCURRENT_MAX = 64
/** Maximum number of cached invalid keys, and how long each is rejected without another verification. */
const INVALID_MAX = 10_000
const INVALID_MS = 10_000
/** A key that changes during its verification is verified again. */
const ATTEMPTS_MAX = 3

/** Verifies API keys at the auth service. Concurrent verifications of the same key are shared. */
export class ApiKeyVerifier {
  readonly #options: ApiKeyVerifierOptions
  readonly #verifying = new Map<string, Promise<Session>>()
  /** Expiry by hash. */
  readonly #invalid = new LRUCache<string, number>({ max: INVALID_MAX })

  constructor(options: ApiKeyVerifierOptions) {
    this.#options = options
  }

  /**
   * @throws {TokenError} by rejecting, for an unknown, expired or deleted key.
   * @throws {GatewayError} 503 by rejecting, if the auth service is unavailable or too many keys are being verified.
   */
  async verify(text: string): Promise<Session> {
    const key = parseApiKey(text)
    if (key === undefined) throw new TokenError('malformed API key')
    if ((this.#invalid.get(key.hash) ?? 0) > this.#options.nowMs()) throw toUnknown(key.id)
    const pending = this.#verifying.get(key.hash)
    if (pending !== undefined) return pending
    if (this.#verifying.size >= CONCURRENT_MAX) throw toUnavailable('too many unverified API keys')
    const verifying = this.#request(text, key).finally(() => this.#verifying.delete(key.hash))
    this.#verifying.set(key.hash, verifying)
    return verifying
  }

  async #request(text: string, key: PresentedApiKey): Promise<Session> {
    const { verify, isRevoked, onVerified, nowMs } = this.#options
    for (let i = 0; i < ATTEMPTS_MAX; i++) {
      const session = await verify(key).catch((cause: unknown) => {
        throw toUnavailable('API keys cannot be verified', cause)
      })
      if (session === undefined || session.endsMs <= nowMs()) {
        this.#invalid.set(key.hash, nowMs() + INVALID_MS)
        throw toUnknown(key.id)
      }
      if (isRevoked(session)) continue
      onVerified(text, session)
      return session
    }
    throw toUnavailable('the API key is being changed')
  }
}

function toUnknown(id: string): TokenError {
  return new TokenError(`API key ${id} is unknown, expired or deleted`)
}

function toUnavailable(reason: string, cause?: unknown): GatewayError {
  const headers = ['retry-after', '1']
  return new GatewayError('auth', 503, `${reason}; try again`, { cause, headers })
}
