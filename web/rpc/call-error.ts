import { isMetadata, splitMetadata } from '../../core/rpc/metadata.ts'

/** The id of errors of the connection itself, as the page has them: what failed was not answered, and may be tried once it is back. */
export const CONNECTION_ID = 'connection'

/** What the server says of a login that has ended (core/auth/policy/decision.ts), in the name of the service that was called. */
const NOT_TAKEN = 'Bearer error="invalid_token"'

/** Fields of a reply: names in lower case, and their values. */
export type Fields = readonly (readonly [name: string, value: string])[]

export interface CallErrorOptions {
  /** @default that of the code */
  readonly status?: string
  readonly fields?: Fields
  /** Service whose call was answered so. @default none: the page says so itself */
  readonly callee?: string
  readonly cause?: unknown
}

/** Why a call failed: what the service, the gateway or the connection said. */
export class CallError extends Error {
  /** Who says so: a service, or a part of the platform. */
  readonly id: string
  /** HTTP status, from 400 to 599. */
  readonly code: number
  /** Reason phrase of the code. */
  readonly status: string
  readonly fields: Fields
  readonly #callee: string | undefined

  constructor(id: string, code: number, detail: string, options: CallErrorOptions = {}) {
    const { status = '', fields = [], callee, cause } = options
    super(detail, { cause })
    this.name = 'CallError'
    this.id = id
    this.code = code
    this.status = status === '' ? (STATUSES[code] ?? '') : status
    this.fields = fields
    this.#callee = callee
  }

  get detail(): string {
    return this.message
  }

  /**
   * Whether the login has ended. The rules refuse with 401, too, and say nothing of the token; services may pass on what others
   * said of other tokens, with other ids.
   */
  get isExpiry(): boolean {
    if (this.code !== 401) return false
    if (this.#callee === undefined) return this.id === CONNECTION_ID
    const challenge = this.fields.find(([name]) => name === 'www-authenticate')?.[1]
    return this.id === this.#callee && challenge === NOT_TAKEN
  }

  /** Whether it was the connection that failed: nothing is known of the call, which may be made again once it is back. */
  get isLoss(): boolean {
    return this.#callee === undefined && this.id === CONNECTION_ID && this.code === 503
  }

  /** Whether it ends with the trouble of the connection or the login that caused it, or with a service that comes again. */
  get isPassing(): boolean {
    return this.isExpiry || this.isLoss || this.code === 502 || this.code === 503
  }

  /** Whatever was thrown, as an error pages can show. */
  static from(thrown: unknown): CallError {
    if (thrown instanceof CallError) return thrown
    const detail = thrown instanceof Error ? thrown.message : `${thrown}`
    return new CallError(CONNECTION_ID, 500, detail, { cause: thrown })
  }
}

/** Reason phrases of what the dashboard says on its own, and of errors without one. */
const STATUSES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  429: 'Too Many Requests',
  499: 'Client Closed Request',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

/** The error in JSON as docs/protocol.md §1 has it, names in any letter case; anything else is one of code 502. */
export function readCallError(json: string, service: string): CallError {
  let body: unknown
  try {
    body = JSON.parse(json)
  } catch {
    return toBadAnswer(service)
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return toBadAnswer(service)
  const members = new Map<string, unknown>()
  for (const [name, value] of Object.entries(body)) {
    const key = name.toLowerCase()
    members.set(key, members.get(key) ?? value)
  }
  const code = members.get('code')
  if (!Number.isInteger(code) || (code as number) < 400 || (code as number) > 599)
    return toBadAnswer(service)
  const text = (name: string): string => {
    const value = members.get(name)
    return typeof value === 'string' ? value : ''
  }
  const fields = parseFields(text('metadata')) ?? []
  return new CallError(text('id') || service, code as number, text('detail'), {
    status: text('status'),
    fields: fields.filter(([name]) => !name.startsWith('content-')),
    callee: service,
  })
}

/** What a caller sees of an answer that breaks the rules but not the connection. */
export function toBadAnswer(service: string, cause?: unknown): CallError {
  const detail = `bad gateway: malformed response from ${service}`
  return new CallError(service, 502, detail, { callee: service, cause })
}

/** The fields of a metadata block; undefined: it is malformed. */
export function parseFields(block: string): Fields | undefined {
  if (!isMetadata(block)) return undefined
  const flat = splitMetadata(block)
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!])
}
