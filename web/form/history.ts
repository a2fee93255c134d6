/** A call that was made, as the browser keeps it: what was asked, not what was answered. */
export interface PastCall {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly namespace: string
  readonly service: string
  readonly endpoint: string
  /** JSON of the request, without secrets; undefined: too long to keep. */
  readonly request?: string
  /** 200, or the code of the error. */
  readonly code: number
  readonly tookMs: number
}

/** Whose it is: ids are those of a namespace. */
export interface Owner {
  /** Namespace of the account. */
  readonly issuer: string
  readonly id: string
}

/** Where it is kept: `localStorage`. */
export interface HistoryStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** Calls kept of an account. */
const MAX_CALLS = 100
/** Longest request that is kept, characters. */
const MAX_REQUEST = 20_000

/** Calls of an account, the last one first. What is there and is no history counts as none. */
export function readHistory(kept: HistoryStorage, account: Owner): readonly PastCall[] {
  try {
    const calls: unknown = JSON.parse(kept.getItem(toKey(account)) ?? '[]')
    return Array.isArray(calls) ? calls.filter(isPastCall) : []
  } catch {
    return []
  }
}

/** Puts a call in front; the oldest ones go. A browser that keeps nothing, or has no room, loses the history only. */
export function addToHistory(kept: HistoryStorage, account: Owner, call: PastCall): void {
  const { request, ...rest } = call
  const isShort = request !== undefined && request.length <= MAX_REQUEST
  const calls = [isShort ? call : rest, ...readHistory(kept, account)].slice(0, MAX_CALLS)
  for (let count = calls.length; count > 0; count = Math.floor(count / 2)) {
    try {
      return kept.setItem(toKey(account), JSON.stringify(calls.slice(0, count)))
    } catch {
      // No room: with fewer there may be.
    }
  }
}

export function clearHistory(kept: HistoryStorage, account: Owner): void {
  try {
    kept.removeItem(toKey(account))
  } catch {
    // A browser that keeps nothing.
  }
}

function toKey({ issuer, id }: Owner): string {
  return `mx.calls.${encodeURIComponent(issuer)}/${encodeURIComponent(id)}`
}

function isPastCall(value: unknown): value is PastCall {
  if (typeof value !== 'object' || value === null) return false
  const { at, namespace, service, endpoint, request = '', code, tookMs } = value as PastCall
  const texts = [namespace, service, endpoint, request]
  return (
    texts.every((each) => typeof each === 'string') &&
    [at, code, tookMs].every((each) => Number.isFinite(each))
  )
}
