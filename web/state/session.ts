import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { CallError, CONNECTION_ID, readCallError } from '../rpc/call-error.ts'
import { toRenewalMs } from './token-renewal.ts'

export const DEFAULT_NAMESPACE = 'mx'

/** The logged-in account (specification: Account). */
export interface Account {
  readonly id: string
  readonly name?: string
  readonly type: string
  /** Namespace of the account. */
  readonly issuer: string
  readonly scopes: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
}

export interface Session {
  readonly account: Account
  /** Namespace of the login. */
  readonly namespace: string
  /** Expiry according to the server's clock: Unix time in milliseconds, or a date. */
  readonly expires: number | string
}

export interface Credentials {
  readonly id: string
  readonly secret: string
  readonly namespace?: string
}

const ID = 'dashboard'
const REQUEST_MS = 15_000
const RETRY_MS = 5000
const TIMER_MAX_MS = 2 ** 31 - 1
let renewAtMs = 0
let renewal: ReturnType<typeof setTimeout> | undefined
/** Number of logins, renewals and logouts. Responses to requests sent before a change are stale. */
let changes = 0

interface SessionResponse {
  readonly body: unknown
  /** `Date` header. */
  readonly date: string | null
}

/** Current session; null if logged out or expired. */
export const session: Signal<Session | null> = signal(null)

/** True once the initial session request has completed. */
export const isSessionLoaded: Signal<boolean> = signal(false)

/** Session that expired while the page was open. The page stays open and continues after the next login. */
export const endedSession: Signal<Session | null> = signal(null)

const selectedNamespace = signal<string | undefined>(undefined)

/** Namespace of calls: the selected namespace, else the namespace of the login. */
export const namespace: ReadonlySignal<string> = computed(
  () =>
    selectedNamespace.value ??
    (session.value ?? endedSession.value)?.namespace ??
    DEFAULT_NAMESPACE,
)

/** Selects the namespace of calls; undefined selects the namespace of the login. */
export function chooseNamespace(name: string | undefined): void {
  selectedNamespace.value = name === '' || name === session.value?.namespace ? undefined : name
}

/** Fetches the session. @throws {CallError} if the request fails. */
export async function readSession(): Promise<void> {
  await updateSession('GET')
  isSessionLoaded.value = true
}

/** Logs in. @throws {CallError} 401 for wrong credentials. */
export async function logIn({ id, secret, namespace }: Credentials): Promise<void> {
  const options = namespace === undefined || namespace === '' ? {} : { namespace }
  const response = await request('POST', '/login', { id, secret, ...options })
  changes++
  startSession(response)
  isSessionLoaded.value = true
}

/**
 * Logs out on the server and in the page.
 *
 * @throws {CallError} if the request fails, in which case the session continues.
 */
export async function logOut(): Promise<void> {
  await request('POST', '/logout', {})
  changes++
  clearTimeout(renewal)
  batch(() => {
    selectedNamespace.value = undefined
    endedSession.value = null
    session.value = null
  })
}

/**
 * Renews the session before it expires, or checks a session that appears to have expired.
 *
 * @throws {CallError} if the request fails.
 */
export async function renewSession(): Promise<void> {
  await updateSession('POST')
}

/** Renews an overdue session when the page becomes visible, because browsers throttle timers of hidden pages. */
export function keepLoggedIn(): void {
  document.addEventListener('visibilitychange', () => {
    if (
      document.visibilityState === 'visible' &&
      session.peek() !== null &&
      Date.now() >= renewAtMs
    )
      renewSession().catch(retry)
  })
}

/** Fetches or renews the session. Stale responses are ignored. */
async function updateSession(method: 'GET' | 'POST'): Promise<void> {
  const changesBefore = changes
  try {
    const response = await request(method, '/session')
    if (changesBefore !== changes) return
    if (method === 'POST') changes++
    startSession(response)
  } catch (error) {
    if (!(error instanceof CallError) || error.code !== 401) throw error
    if (changesBefore === changes) endSession()
  }
}

function startSession({ body, date }: SessionResponse): void {
  const next = body as Session
  const before = session.peek() ?? endedSession.peek()
  batch(() => {
    // The namespace was selected by a different account.
    if (before !== null && !isSame(before.account, next.account))
      selectedNamespace.value = undefined
    session.value = next
    endedSession.value = null
  })
  const waitMs = toRenewalMs(next.expires, date)
  renewAtMs = Date.now() + waitMs
  schedule(waitMs)
}

function isSame(a: Account, b: Account): boolean {
  return a.id === b.id && a.issuer === b.issuer
}

function endSession(): void {
  clearTimeout(renewal)
  batch(() => {
    endedSession.value ??= session.value
    session.value = null
  })
}

function schedule(ms: number): void {
  clearTimeout(renewal)
  if (ms < TIMER_MAX_MS) renewal = setTimeout(() => void renewSession().catch(retry), ms)
}

/** Retries, because an unreachable server may recover before the session expires. */
function retry(): void {
  if (session.peek() !== null) schedule(RETRY_MS)
}

async function request(method: string, path: string, body?: object): Promise<SessionResponse> {
  let text: string
  let date: string | null
  let ok: boolean
  let status: number
  try {
    const response = await fetch(path, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      signal: AbortSignal.timeout(REQUEST_MS),
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    text = await response.text()
    ;({ ok, status } = response)
    date = response.headers.get('date')
  } catch (error) {
    throw toUnreachable(error)
  }
  if (ok) return { body: text === '' ? undefined : JSON.parse(text), date }
  const error = readCallError(text, ID)
  if (error.code === status) throw error
  throw new CallError(ID, status, `the server responded with ${status}`)
}

function toUnreachable(cause: unknown): CallError {
  return new CallError(CONNECTION_ID, 503, 'the server is unreachable', { cause })
}
