import { isMetadata, splitMetadata } from '../../core/rpc/metadata.ts'

/** Id of errors of the connection itself. The call has no response and may be retried after reconnecting. */
export const CONNECTION_ID = 'connection'

/** Challenge for an ended login (core/auth/policy/decision.ts). The error has the id of the called service. */
const INVALID_TOKEN = 'Bearer error="invalid_token"'

/** Metadata of a response: lower-case names with values. */
export type Fields = readonly (readonly [name: string, value: string])[]

export interface CallErrorOptions {
  /** Reason phrase. @default status of the code */
  readonly status?: string
  readonly fields?: Fields
  /** Called service that returned the error. @default none: the page created the error */
  readonly callee?: string
  readonly cause?: unknown
}

/** Error of a call: from the service, the gateway or the connection. */
export class CallError extends Error {
  /** Source of the error: a service or a part of the platform. */
  readonly id: string
  /** HTTP status, from 400 to 599. */
  readonly code: number
  /** Reason phrase of the status. */
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
   * True if the login has ended. Access rules also deny with 401, but without this challenge. Services may pass on
   * errors about other tokens from other services, which have different ids.
   */
  get isExpiry(): boolean {
    if (this.code !== 401) return false
    if (this.#callee === undefined) return this.id === CONNECTION_ID
    const challenge = this.fields.find(([name]) => name === 'www-authenticate')?.[1]
    return this.id === this.#callee && challenge === INVALID_TOKEN
  }

  /**
   * True if the connection failed, so that the outcome of the call is unknown. The call may be retried after
   * reconnecting.
   */
  get isLoss(): boolean {
    return this.#callee === undefined && this.id === CONNECTION_ID && this.code === 503
  }

  /** True if the error is temporary: until reconnection, the next login, or until the service is available again. */
  get isPassing(): boolean {
    return this.isExpiry || this.isLoss || this.code === 502 || this.code === 503
  }

  /** Converts any thrown value to an error that pages can show. */
  static from(thrown: unknown): CallError {
    if (thrown instanceof CallError) return thrown
    const detail = thrown instanceof Error ? thrown.message : `${thrown}`
    return new CallError(CONNECTION_ID, 500, detail, { cause: thrown })
  }
}

/** Reason phrases for errors created by the dashboard and errors without a phrase. */
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

/** Parses a JSON error (docs/protocol.md §1), with names in any letter case. Anything else becomes an error 502. */
export function readCallError(json: string, service: string): CallError {
  let body: unknown
  try {
    body = JSON.parse(json)
  } catch {
    return toBadResponse(service)
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return toBadResponse(service)
  const members = new Map<string, unknown>()
  for (const [name, value] of Object.entries(body)) {
    const key = name.toLowerCase()
    members.set(key, members.get(key) ?? value)
  }
  const code = members.get('code')
  if (!Number.isInteger(code) || (code as number) < 400 || (code as number) > 599)
    return toBadResponse(service)
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

/** Error for a malformed response that does not affect the connection. */
export function toBadResponse(service: string, cause?: unknown): CallError {
  const detail = `bad gateway: malformed response from ${service}`
  return new CallError(service, 502, detail, { callee: service, cause })
}

/** Parses a metadata block; undefined if it is malformed. */
export function parseFields(block: string): Fields | undefined {
  if (!isMetadata(block)) return undefined
  const flat = splitMetadata(block)
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!])
}
