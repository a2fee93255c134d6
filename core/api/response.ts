import { GatewayError } from '../errors.ts'
import { isFinalStatus } from '../http/final-status.ts'
import { HeaderList } from '../http/headers.ts'
import { NOT_OF_SERVICES } from '../http/hop-by-hop.ts'
import type { ApiResponse } from './messages.ts'
import { decodeBase64 } from './text.ts'

/** A checked `api.Response`: what an exchange sends. */
export interface ApiReply {
  readonly status: number
  readonly headers: HeaderList
  readonly body: string | Uint8Array
}

/** Names and values of all fields, characters. */
const MAX_HEADER_LENGTH = 64 * 1024
const MAX_SHOWN = 64
const MEMBERS: readonly string[] = [
  'statusCode',
  'header',
  'body',
  'encoding',
] satisfies (keyof ApiResponse)[]
const DIGITS = /^\d{1,3}$/

/**
 * The reply that a service's `api.Response` asks for, after a check of everything in it.
 *
 * @param response the decoded document.
 * @param service whose answer it is: the id of errors.
 * @throws {GatewayError} 502 when it is no `api.Response`, its status is none, or a field is malformed.
 */
export function toApiReply(response: unknown, service: string): ApiReply {
  const refuse: Refuse = (what, got) =>
    new GatewayError(service, 502, `the answer is no api.Response: ${what}, got ${got}`)
  if (!isObject(response))
    throw refuse(`it must be an object of ${MEMBERS.join(', ')}`, tell(response))
  for (const name in response) {
    if (MEMBERS.includes(name)) continue
    throw refuse(
      `its members must be ${MEMBERS.join(', ')}`,
      JSON.stringify(name.slice(0, MAX_SHOWN)),
    )
  }
  const { statusCode, header, body = null, encoding } = response
  const status = toStatus(statusCode)
  if (status === undefined) {
    const got = JSON.stringify(statusCode)?.slice(0, MAX_SHOWN)
    throw refuse('statusCode must be 0 or an integer from 200 to 599', got)
  }
  const headers = new HeaderList()
  if (header !== undefined && header !== null) {
    if (!isObject(header)) throw refuse('header must be an object of pairs', tell(header))
    addFields(headers, header, refuse)
  }
  if (!headers.has('content-type') && status !== 204 && status !== 304)
    headers.append('content-type', 'application/json')
  return { status, headers, body: toBody(body, encoding ?? '', refuse) }
}

/** The error to throw: what would be right, and what there is. Values stay out of it: they may be secrets. */
type Refuse = (what: string, got: string | undefined) => GatewayError

function addFields(headers: HeaderList, header: Record<string, unknown>, refuse: Refuse): void {
  let length = 0
  for (const name of Object.keys(header)) {
    const shown = `header ${JSON.stringify(name.slice(0, MAX_SHOWN))}`
    const pair = header[name]
    if (!isObject(pair)) throw refuse(`${shown} must be a pair`, tell(pair))
    const key = pair['key'] || name
    const values = pair['values'] ?? []
    if (typeof key !== 'string') throw refuse(`key of ${shown} must be a string`, tell(key))
    if (!Array.isArray(values)) throw refuse(`values of ${shown} must be a list`, tell(values))
    const lower = key.toLowerCase()
    if (NOT_OF_SERVICES.has(lower) || lower.startsWith('mx-')) continue
    for (const value of values) {
      if (typeof value !== 'string') throw refuse(`values of ${shown} must be strings`, tell(value))
      length += key.length + value.length
      if (length > MAX_HEADER_LENGTH)
        throw refuse(`header must not be longer than ${MAX_HEADER_LENGTH}`, `${length} and more`)
      if (!append(headers, key, value))
        throw refuse(`${shown} must have a token as key, and values of one line`, 'others')
    }
  }
}

function append(headers: HeaderList, name: string, text: string): boolean {
  try {
    headers.append(name, toFieldValue(text))
    return true
  } catch {
    return false
  }
}

function toBody(body: unknown, encoding: unknown, refuse: Refuse): string | Uint8Array {
  if (body === null) return ''
  if (typeof body !== 'string') throw refuse('body must be a string', tell(body))
  if (encoding === '') return body
  if (encoding !== 'base64') throw refuse('encoding must be "base64" or absent', 'another one')
  const bytes = decodeBase64(body)
  if (bytes === undefined) throw refuse('body must be Base64', 'another text')
  return bytes
}

/** Status of the reply; undefined: it can be none. 32-bit integers may come as text (ProtoJSON). */
function toStatus(given: unknown): number | undefined {
  if (given === undefined || given === null) return 200
  const code = typeof given === 'string' && DIGITS.test(given) ? Number(given) : given
  if (code === 0) return 200
  return isFinalStatus(code) ? code : undefined
}

/** A text as field values hold it: in UTF-8, one character a byte. */
function toFieldValue(text: string): string {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7e) return Buffer.from(text).toString('latin1')
  }
  return text
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function tell(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}
