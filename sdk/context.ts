import { randomUUID } from 'node:crypto'
import type { PluginLog } from '../core/plugin/define.ts'
import { formatMetadata, splitMetadata } from '../core/rpc/metadata.ts'
import { addDetails } from './log/log-details.ts'

/** An authenticated caller (specification: Account). Set by the server that verified the token. */
export interface Account {
  readonly id: string
  /** Display name; empty if none. */
  readonly name: string
  readonly type: string
  readonly issuer: string
  readonly scopes: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
  /** Id of the API key that authenticated the caller. Absent for other credentials. */
  readonly apiKey?: string
}

/** Data shared by all contexts of a call. */
export interface CallScope {
  /** Full name of the called service. */
  readonly service: string
  /** `<Handler>.<Method>` */
  readonly endpoint: string
  /** Deadline as `performance.now()`; Infinity if none. */
  readonly expiresMs: number
  /** Aborts when the response is no longer expected. Created on first access. */
  readonly signal: AbortSignal
  /** Log of the service. */
  readonly log: PluginLog
  /** Trace id, if spans are exported. */
  readonly traceId?: string | undefined
  /** Starts the response stream. */
  start(): void
}

/** Prefix of metadata reserved for the platform. */
const PLATFORM = 'mx-'
const COOKIE = 'cookie'

/**
 * Context of a call: metadata, deadline, caller and cancellation. Immutable.
 *
 * Read metadata with `metadata.get(ctx, name)`; `metadata.set(ctx, name, value)` returns a new context.
 */
export class Context {
  readonly #scope: CallScope
  /** The metadata block as received, or its parsed headers after the first access. */
  #fields: string | readonly string[]
  #account: Account | null | undefined = undefined
  #id = ''
  #log: PluginLog | undefined = undefined

  /** @param metadata a validated metadata block, or its headers as name, value, name, value… */
  constructor(scope: CallScope, metadata: string | readonly string[]) {
    this.#scope = scope
    this.#fields = metadata
  }

  /** Full name of the called service. */
  get service(): string {
    return this.#scope.service
  }

  /** `<Handler>.<Method>` */
  get endpoint(): string {
    return this.#scope.endpoint
  }

  /** Namespace of the call (`Mx-Namespace`); empty if none. */
  get namespace(): string {
    return findField(this.fields, 'mx-namespace') ?? ''
  }

  /** The authenticated caller; undefined if the caller is anonymous. */
  get account(): Account | undefined {
    if (this.#account === undefined) {
      const json = findField(this.fields, 'mx-account')
      this.#account = (json === undefined ? undefined : parseAccount(json)) ?? null
    }
    return this.#account ?? undefined
  }

  /** Request id, as in the gateway's log (`X-Request-Id`); generated if the call has none. */
  get id(): string {
    if (this.#id === '') this.#id = findField(this.fields, 'x-request-id') ?? randomUUID()
    return this.#id
  }

  /** Deadline, milliseconds since 1970; Infinity if none. */
  get deadlineMs(): number {
    return performance.timeOrigin + this.#scope.expiresMs
  }

  /** Remaining milliseconds, at least 0; Infinity without a deadline. */
  get msLeft(): number {
    const { expiresMs } = this.#scope
    return expiresMs === Number.POSITIVE_INFINITY
      ? expiresMs
      : Math.max(0, expiresMs - performance.now())
  }

  /** Aborts when the caller cancels or disconnects, or the deadline expires. Pass it to `fetch`, timers and calls. */
  get signal(): AbortSignal {
    return this.#scope.signal
  }

  /**
   * Starts the response stream before its first message, so that the caller is notified that the call is being served
   * and an HTTP client receives the status. Otherwise the stream starts with its first message.
   *
   * @throws {TypeError} if the endpoint does not stream its response.
   */
  start(): void {
    this.#scope.start()
  }

  /**
   * Logger of the service. Each line contains the endpoint, the request id and, if spans are exported, the trace id.
   */
  get log(): PluginLog {
    if (this.#log === undefined) {
      const { log, traceId } = this.#scope
      const trace = traceId === undefined ? {} : { trace: traceId }
      this.#log = addDetails(log, { endpoint: this.endpoint, id: this.id, ...trace })
    }
    return this.#log
  }

  /** All metadata as name, value, name, value… Names are in lower case and may repeat. */
  get fields(): readonly string[] {
    if (typeof this.#fields === 'string') this.#fields = splitMetadata(this.#fields)
    return this.#fields
  }

  /** A context of the same call with other metadata. */
  with(fields: readonly string[]): Context {
    const next = new Context(this.#scope, fields)
    next.#id = this.id
    return next
  }
}

/**
 * Accessors of a context's metadata (specification: Library-level operations).
 *
 * ```ts
 * const [language, found] = metadata.get(ctx, 'Accept-Language')
 * const next = metadata.set(ctx, 'X-Tenant', 'acme')
 * ```
 */
export const metadata: {
  /**
   * Returns the value of `name`, in any letter case, and whether it exists. Repeated values are joined into a list (RFC
   * 9110 §5.3).
   */
  readonly get: (ctx: Context, name: string) => [value: string, found: boolean]
  /**
   * Returns a new context in which `name` has only this value; an empty value deletes it.
   *
   * @throws {TypeError} if the name is not a token or is reserved (`mx-*`), or the value contains control characters or
   * characters above U+00FF.
   */
  readonly set: (ctx: Context, name: string, value: string) => Context
} = {
  get(ctx, name) {
    const value = findField(ctx.fields, name.toLowerCase())
    return value === undefined ? ['', false] : [value, true]
  },
  set(ctx, name, value) {
    const lower = name.toLowerCase()
    if (lower.startsWith(PLATFORM))
      throw new TypeError(`metadata ${lower} is reserved for the platform and cannot be set`)
    formatMetadata([lower, value])
    const { fields } = ctx
    const next: string[] = []
    for (let i = 0; i < fields.length; i += 2)
      if (fields[i] !== lower) next.push(fields[i]!, fields[i + 1]!)
    if (value !== '') next.push(lower, value)
    formatMetadata(next)
    return ctx.with(next)
  },
}

/** Options of a context outside a call, for tests and programs that only make calls. */
export interface ContextOptions {
  /** Metadata by name. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Milliseconds until the deadline. @default none */
  readonly timeoutMs?: number
  /** @default never aborts */
  readonly signal?: AbortSignal
  /** @default silent */
  readonly log?: PluginLog
  /** @default empty */
  readonly service?: string
  /** @default empty */
  readonly endpoint?: string
}

const nothing = (): void => {}
const SILENT: PluginLog = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/**
 * Creates a context outside a call.
 *
 * @throws {TypeError} for invalid metadata.
 */
export function createContext(options: ContextOptions = {}): Context {
  const { timeoutMs, log = SILENT, service = '', endpoint = '' } = options
  let { signal } = options
  const fields = Object.entries(options.metadata ?? {}).flatMap(([name, value]) => [
    name.toLowerCase(),
    value,
  ])
  formatMetadata(fields)
  const scope: CallScope = {
    service,
    endpoint,
    log,
    expiresMs: timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs,
    get signal() {
      signal ??=
        timeoutMs === undefined ? new AbortController().signal : AbortSignal.timeout(timeoutMs)
      return signal
    },
    start: nothing,
  }
  return new Context(scope, fields)
}

function findField(fields: readonly string[], name: string): string | undefined {
  let joined: string | undefined
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i] !== name) continue
    const value = fields[i + 1]!
    // RFC 9113 §8.2.3: split cookies are joined by semicolons.
    joined = joined === undefined ? value : `${joined}${name === COOKIE ? '; ' : ', '}${value}`
  }
  return joined
}

/**
 * Parses the account set by the server that verified the token. Returns undefined if it is malformed, so that the
 * caller is anonymous.
 */
function parseAccount(json: string): Account | undefined {
  let value: unknown
  try {
    // Metadata strings contain one character per byte of UTF-8.
    value = JSON.parse(Buffer.from(json, 'latin1').toString())
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { id, name, type, issuer, scopes, metadata, apiKey } = value as Record<string, unknown>
  if (typeof id !== 'string' || id === '') return undefined
  return Object.freeze({
    id,
    name: toText(name),
    type: toText(type),
    issuer: toText(issuer),
    scopes: Object.freeze(Array.isArray(scopes) ? scopes.filter(isText) : []),
    metadata: Object.freeze(toTexts(metadata)),
    ...(isText(apiKey) && { apiKey }),
  })
}

function toTexts(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => isText(entry[1])),
  )
}

function toText(value: unknown): string {
  return isText(value) ? value : ''
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
