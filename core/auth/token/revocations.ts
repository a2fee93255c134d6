import type { Session } from '../../contracts/auth.ts'

/** Revokes a single token, the tokens of a session, or the tokens of an account issued before a certain time. */
export interface Revocation {
  /** Token id, or the common prefix of a session's token ids, up to the dot; empty: see `account`. */
  readonly id: string
  /** Namespace of the account; empty: see `id`. */
  readonly namespace: string
  /** Account id; empty: see `id`. */
  readonly account: string
  /** Revokes tokens of the account issued before this Unix time in milliseconds. If 0, see `id`. */
  readonly before: number
  /** Unix time in milliseconds at which all these tokens have expired. */
  readonly ends: number
}

/** Interval between removals of expired revocations. */
const SWEEP_MS = 60_000

/** Revocations, each stored until its tokens have expired. */
export class Revocations {
  readonly #nowMs: () => number
  readonly #all = new Map<string, Revocation>()
  #sweptMs = 0

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  /** @returns false if the revocation is already covered. */
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
    const revocation = this.#all.get(toAccountKey(account.issuer, account.id))
    return revocation !== undefined && issuedMs < revocation.before
  }

  /** Revocations that have not expired. */
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

/** Returns the key of an account, distinct from token ids, which contain no slash. */
function toAccountKey(namespace: string, account: string): string {
  return `${namespace}/${account}`
}
