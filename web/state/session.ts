import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { CallError, CONNECTION_ID, readCallError } from '../rpc/call-error.ts'
import { toRenewalMs } from './token-renewal.ts'

/** Namespace of whoever names none. */
export const DEFAULT_NAMESPACE = 'mx'

/** Who uses the dashboard (specification: Account). */
export interface Account {
  readonly id: string
  readonly name?: string
  readonly type: string
  /** Namespace it belongs to. */
  readonly issuer: string
  readonly scopes: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
}

export interface Session {
  readonly account: Account
  /** Namespace of the login. */
  readonly namespace: string
  /** When the login ends unless it is renewed, by the server's clock: Unix time in milliseconds, or a date. */
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
/** Logins, renewals and logouts: what was asked before one of them is out of date. */
let changes = 0

interface Reply {
  readonly body: unknown
  /** Field `Date`. */
  readonly date: string | null
}

/** Who is logged in; null: nobody, or nobody any more. */
export const session: Signal<Session | null> = signal(null)

/** Whether the server has said who is logged in. */
export const isKnown: Signal<boolean> = signal(false)

/** The login that ended while the page was used: what it shows stays, and it goes on after the next one. */
export const endedSession: Signal<Session | null> = signal(null)

const chosen = signal<string | undefined>(undefined)

/** Namespace that calls are made for: the chosen one, else that of the login. */
export const namespace: ReadonlySignal<string> = computed(
  () => chosen.value ?? (session.value ?? endedSession.value)?.namespace ?? DEFAULT_NAMESPACE,
)

/** Makes calls for another namespace; undefined: for that of the login. */
export function chooseNamespace(name: string | undefined): void {
  chosen.value = name === '' || name === session.value?.namespace ? undefined : name
}

/** Asks who is logged in. @throws {CallError} when the server does not say. */
export async function readSession(): Promise<void> {
  await learn('GET')
  isKnown.value = true
}

/** @throws {CallError} with 401 when the id or the secret is wrong. */
export async function logIn({ id, secret, namespace }: Credentials): Promise<void> {
  const wanted = namespace === undefined || namespace === '' ? {} : { namespace }
  const reply = await ask('POST', '/login', { id, secret, ...wanted })
  changes++
  begin(reply)
  isKnown.value = true
}

/** Ends the login on the server, too. @throws {CallError} when the server was not told: the login goes on. */
export async function logOut(): Promise<void> {
  await ask('POST', '/logout', {})
  changes++
  clearTimeout(renewal)
  batch(() => {
    chosen.value = undefined
    endedSession.value = null
    session.value = null
  })
}

/** Asks the server to go on with the login, before it ends or when something says that it has. @throws {CallError} when the server does not say. */
export async function renewSession(): Promise<void> {
  await learn('POST')
}

/** Renews a login that is about to end when the page is looked at again: timers of hidden pages are late. */
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

/** Asks who is logged in, or renews the login; an answer that is out of date counts for nothing. */
async function learn(method: 'GET' | 'POST'): Promise<void> {
  const asked = changes
  try {
    const reply = await ask(method, '/session')
    if (asked !== changes) return
    if (method === 'POST') changes++
    begin(reply)
  } catch (error) {
    if (!(error instanceof CallError) || error.code !== 401) throw error
    if (asked === changes) end()
  }
}

function begin({ body, date }: Reply): void {
  const next = body as Session
  const before = session.peek() ?? endedSession.peek()
  batch(() => {
    // Somebody else had chosen it.
    if (before !== null && !isSame(before.account, next.account)) chosen.value = undefined
    session.value = next
    endedSession.value = null
  })
  const waitMs = toRenewalMs(next.expires, date)
  renewAtMs = Date.now() + waitMs
  schedule(waitMs)
}

function isSame(one: Account, other: Account): boolean {
  return one.id === other.id && one.issuer === other.issuer
}

function end(): void {
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

/** The server is away: it may be back before the login ends. */
function retry(): void {
  if (session.peek() !== null) schedule(RETRY_MS)
}

async function ask(method: string, path: string, body?: object): Promise<Reply> {
  let text: string
  let date: string | null
  let ok: boolean
  let status: number
  try {
    const reply = await fetch(path, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      signal: AbortSignal.timeout(REQUEST_MS),
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    text = await reply.text()
    ;({ ok, status } = reply)
    date = reply.headers.get('date')
  } catch (error) {
    throw toGone(error)
  }
  if (ok) return { body: text === '' ? undefined : JSON.parse(text), date }
  const error = readCallError(text, ID)
  if (error.code === status) throw error
  throw new CallError(ID, status, `the server answered ${status}`)
}

function toGone(cause: unknown): CallError {
  return new CallError(CONNECTION_ID, 503, 'the server does not answer', { cause })
}
