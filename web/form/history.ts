/** A past call in the browser's history, without its response. */
export interface PastCall {
  /** Unix time in milliseconds. */
  readonly at: number
  readonly namespace: string
  readonly service: string
  readonly endpoint: string
  /** JSON of the request without secrets; undefined if it is too long. */
  readonly request?: string
  /** Status: 200 or an error code. */
  readonly code: number
  readonly tookMs: number
}

/** Account that made the calls. Ids are unique per namespace. */
export interface Owner {
  /** Namespace of the account. */
  readonly issuer: string
  readonly id: string
}

/** The subset of `localStorage` used here. */
export interface HistoryStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** Maximum number of stored calls per account. */
const MAX_CALLS = 100
/** Maximum length of a stored request in characters. */
const MAX_REQUEST = 20_000

/** Reads the calls of an account, newest first. Invalid stored data is ignored. */
export function readHistory(storage: HistoryStorage, account: Owner): readonly PastCall[] {
  try {
    const calls: unknown = JSON.parse(storage.getItem(toKey(account)) ?? '[]')
    return Array.isArray(calls) ? calls.filter(isPastCall) : []
  } catch {
    return []
  }
}

/** Prepends a call and drops the oldest. Storage errors affect only the history. */
export function addToHistory(storage: HistoryStorage, account: Owner, call: PastCall): void {
  const { request, ...rest } = call
  const isShort = request !== undefined && request.length <= MAX_REQUEST
  const calls = [isShort ? call : rest, ...readHistory(storage, account)].slice(0, MAX_CALLS)
  for (let count = calls.length; count > 0; count = Math.floor(count / 2)) {
    try {
      return storage.setItem(toKey(account), JSON.stringify(calls.slice(0, count)))
    } catch {
      // The quota is exceeded. Retries with fewer calls.
    }
  }
}

export function clearHistory(storage: HistoryStorage, account: Owner): void {
  try {
    storage.removeItem(toKey(account))
  } catch {
    // The storage is unavailable.
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
