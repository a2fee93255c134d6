import type { Session } from '../../contracts/auth.ts'

/** Tokens that count for nothing any more: one, those of a session, or those an account had until then. */
export interface Revocation {
  /** Of a token, or what those of a session begin with, up to the dot; empty: it is about an account. */
  readonly id: string
  /** Of the account; empty: it is about a token. */
  readonly namespace: string
  /** Id of the account; empty: it is about a token. */
  readonly account: string
  /** Tokens of the account that were issued before, unix time in milliseconds; 0: it is about a token. */
  readonly before: number
  /** When all of these tokens have ended anyway, unix time in milliseconds. */
  readonly ends: number
}

/** Milliseconds from one look for what has ended to the next. */
const SWEEP_MS = 60_000

/** What has been revoked, each until it has ended anyway. */
export class Revocations {
  readonly #nowMs: () => number
  readonly #all = new Map<string, Revocation>()
  #sweptMs = 0

  /** @param nowMs unix time. */
  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  /** @returns whether it says anything new. */
  add(revocation: Revocation): boolean {
    this.#sweep()
    const key = toKey(revocation)
    const known = this.#all.get(key)
    if (known !== undefined && known.before >= revocation.before) return false
    this.#all.set(key, revocation)
    return true
  }

  isRevoked({ id, account, issuedMs }: Session): boolean {
    if (this.#all.size === 0) return false
    if (this.#all.has(id)) return true
    const dot = id.indexOf('.')
    if (dot > 0 && this.#all.has(id.slice(0, dot))) return true
    const ofAccount = this.#all.get(toAccountKey(account.issuer, account.id))
    return ofAccount !== undefined && issuedMs < ofAccount.before
  }

  /** Those that have not ended. */
  list(): readonly Revocation[] {
    this.#sweep(0)
    return [...this.#all.values()]
  }

  #sweep(everyMs = SWEEP_MS): void {
    const nowMs = this.#nowMs()
    if (nowMs - this.#sweptMs < everyMs) return
    this.#sweptMs = nowMs
    for (const [key, { ends }] of this.#all) if (ends <= nowMs) this.#all.delete(key)
  }
}

function toKey({ id, namespace, account }: Revocation): string {
  return id === '' ? toAccountKey(namespace, account) : id
}

/** No token has such an id: none has a slash. */
function toAccountKey(namespace: string, account: string): string {
  return `${namespace}/${account}`
}
