import { randomUUID } from 'node:crypto'
import type { PluginLog } from '../core/plugin/define.ts'
import { formatMetadata, splitMetadata } from '../core/rpc/metadata.ts'
import { addDetails } from './log/log-details.ts'

/** Who calls (specification: Account). Only ever written by whoever checked the token. */
export interface Account {
  readonly id: string
  /** Empty when it has none. */
  readonly name: string
  readonly type: string
  readonly issuer: string
  readonly scopes: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
}

/** What all contexts of one call share. */
export interface CallScope {
  /** Full name of the service that is called. */
  readonly service: string
  /** `<Handler>.<Method>` */
  readonly endpoint: string
  /** When the time for the call is over, `performance.now()`; Infinity: never. */
  readonly expiresMs: number
  /** Aborts when nobody waits for the answer any more. Created when it is first read. */
  readonly signal: AbortSignal
  /** Log of the service. */
  readonly log: PluginLog
  /** Its trace, where spans of it are exported. */
  readonly traceId?: string | undefined
  /** Begins the stream of answers. */
  start(): void
}

/** Names of metadata the platform writes: not to be set by programs. */
const PLATFORM = 'mx-'
const COOKIE = 'cookie'

/**
 * What a call carries besides its request: metadata, deadline, who calls, when to stop. Immutable.
 *
 * Metadata is read with `metadata.get(ctx, name)`; `metadata.set(ctx, name, value)` gives a new context.
 */
export class Context {
  readonly #scope: CallScope
  /** The block as it came, until somebody asks; then its fields. */
  #fields: string | readonly string[]
  #account: Account | null | undefined = undefined
  #id = ''
  #log: PluginLog | undefined = undefined

  /** @param metadata a metadata block that was checked, or its fields: name, value, name, value… */
  constructor(scope: CallScope, metadata: string | readonly string[]) {
    this.#scope = scope
    this.#fields = metadata
  }

  /** Full name of the service that is called. */
  get service(): string {
    return this.#scope.service
  }

  /** `<Handler>.<Method>` */
  get endpoint(): string {
    return this.#scope.endpoint
  }

  /** The namespace the caller chose (`Mx-Namespace`); empty: none. */
  get namespace(): string {
    return findField(this.fields, 'mx-namespace') ?? ''
  }

  /** Who calls; undefined: nobody that is known. */
  get account(): Account | undefined {
    if (this.#account === undefined) {
      const json = findField(this.fields, 'mx-account')
      this.#account = (json === undefined ? undefined : parseAccount(json)) ?? null
    }
    return this.#account ?? undefined
  }

  /** Id of the request this call belongs to, as in the gateway's log (`X-Request-Id`); a new one where it has none. */
  get id(): string {
    if (this.#id === '') this.#id = findField(this.fields, 'x-request-id') ?? randomUUID()
    return this.#id
  }

  /** When the time for the call is over, milliseconds since 1970; Infinity: never. */
  get deadlineMs(): number {
    return performance.timeOrigin + this.#scope.expiresMs
  }

  /** Milliseconds left, 0 or more; Infinity: no deadline. */
  get msLeft(): number {
    const { expiresMs } = this.#scope
    return expiresMs === Number.POSITIVE_INFINITY
      ? expiresMs
      : Math.max(0, expiresMs - performance.now())
  }

  /** Aborts when the caller gave up, left, or the time is over: hand it to `fetch`, timers and calls. */
  get signal(): AbortSignal {
    return this.#scope.signal
  }

  /**
   * Begins the stream of answers before there is a first one: callers learn that they are served, an HTTP client has its
   * status. Without it a stream begins with its first message.
   *
   * @throws {TypeError} when the endpoint does not answer with a stream.
   */
  start(): void {
    this.#scope.start()
  }

  /** Log of the service, with endpoint and request id on every line, and the id of the trace, where spans are exported. */
  get log(): PluginLog {
    if (this.#log === undefined) {
      const { log, traceId } = this.#scope
      const trace = traceId === undefined ? {} : { trace: traceId }
      this.#log = addDetails(log, { endpoint: this.endpoint, id: this.id, ...trace })
    }
    return this.#log
  }

  /** All metadata: name, value, name, value… in lower case, repeats kept. */
  get fields(): readonly string[] {
    if (typeof this.#fields === 'string') this.#fields = splitMetadata(this.#fields)
    return this.#fields
  }

  /** The same call with other metadata. */
  with(fields: readonly string[]): Context {
    const next = new Context(this.#scope, fields)
    next.#id = this.id
    return next
  }
}

/**
 * Metadata of a context (specification: Library-level operations).
 *
 * ```ts
 * const [language, found] = metadata.get(ctx, 'Accept-Language')
 * const next = metadata.set(ctx, 'X-Tenant', 'acme')
 * ```
 */
export const metadata: {
  /** The value of `name`, in whatever case, and whether there is one. Of a name that was sent several times, all values, as one list (RFC 9110 §5.3). */
  readonly get: (ctx: Context, name: string) => [value: string, found: boolean]
  /**
   * A new context where `name` has only this value; an empty value deletes it.
   *
   * @throws {TypeError} when the name is no token or belongs to the platform (`mx-*`), or the value holds control characters or characters beyond U+00FF.
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
      throw new TypeError(`metadata ${lower} belongs to the platform, it cannot be set`)
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

/** What a context is made of where no call came in: in tests, in programs that only call others. */
export interface ContextOptions {
  /** By name. */
  readonly metadata?: Readonly<Record<string, string>>
  /** @default none */
  readonly timeoutMs?: number
  /** @default one that never aborts */
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
 * Makes a context of nothing.
 *
 * @throws {TypeError} for metadata that cannot be sent.
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
  let found: string | undefined
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i] !== name) continue
    const value = fields[i + 1]!
    // RFC 9113 §8.2.3: cookies that came apart are joined by semicolons.
    found = found === undefined ? value : `${found}${name === COOKIE ? '; ' : ', '}${value}`
  }
  return found
}

/** An account as whoever checked the token wrote it; undefined when it is malformed: then the caller is nobody. */
function parseAccount(json: string): Account | undefined {
  let value: unknown
  try {
    // The characters are the bytes of UTF-8.
    value = JSON.parse(Buffer.from(json, 'latin1').toString())
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { id, name, type, issuer, scopes, metadata } = value as Record<string, unknown>
  if (typeof id !== 'string' || id === '') return undefined
  return Object.freeze({
    id,
    name: toText(name),
    type: toText(type),
    issuer: toText(issuer),
    scopes: Object.freeze(Array.isArray(scopes) ? scopes.filter(isText) : []),
    metadata: Object.freeze(toTexts(metadata)),
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
