import { GatewayError } from '../errors.ts'
import { isFinalStatus } from '../http/final-status.ts'
import { HeaderList } from '../http/headers.ts'
import { RESERVED_HEADERS } from '../http/hop-by-hop.ts'
import type { ApiResponse } from './messages.ts'
import { decodeBase64 } from './text.ts'

/** A validated `api.Response`. */
export interface ApiReply {
  readonly status: number
  readonly headers: HeaderList
  readonly body: string | Uint8Array
}

/** Maximum total length of the header names and values, in characters. */
const MAX_HEADER_LENGTH = 64 * 1024
const MAX_QUOTED = 64
const MEMBERS: readonly string[] = [
  'statusCode',
  'header',
  'body',
  'encoding',
] satisfies (keyof ApiResponse)[]
const DIGITS = /^\d{1,3}$/

/**
 * Validates the `api.Response` of a service.
 *
 * @param response the decoded document.
 * @param service id for errors.
 * @throws {GatewayError} 502 if it is not an `api.Response`, or its status or a header is invalid.
 */
export function toApiReply(response: unknown, service: string): ApiReply {
  const invalid: CreateError = (subject, got) =>
    new GatewayError(service, 502, `the response is not an api.Response: ${subject}, got ${got}`)
  if (!isObject(response))
    throw invalid(`it must be an object of ${MEMBERS.join(', ')}`, describeType(response))
  for (const name in response) {
    if (MEMBERS.includes(name)) continue
    throw invalid(
      `its members must be ${MEMBERS.join(', ')}`,
      JSON.stringify(name.slice(0, MAX_QUOTED)),
    )
  }
  const { statusCode, header, body = null, encoding } = response
  const status = toStatus(statusCode)
  if (status === undefined) {
    const got = JSON.stringify(statusCode)?.slice(0, MAX_QUOTED)
    throw invalid('statusCode must be 0 or an integer from 200 to 599', got)
  }
  const headers = new HeaderList()
  if (header !== undefined && header !== null) {
    if (!isObject(header)) throw invalid('header must be an object of pairs', describeType(header))
    addFields(headers, header, invalid)
  }
  if (!headers.has('content-type') && status !== 204 && status !== 304)
    headers.append('content-type', 'application/json')
  return { status, headers, body: toBody(body, encoding ?? '', invalid) }
}

/** Creates an error from the expected and the actual type. Values are not quoted because they may be secrets. */
type CreateError = (subject: string, got: string | undefined) => GatewayError

function addFields(
  headers: HeaderList,
  header: Record<string, unknown>,
  invalid: CreateError,
): void {
  let length = 0
  for (const name of Object.keys(header)) {
    const label = `header ${JSON.stringify(name.slice(0, MAX_QUOTED))}`
    const pair = header[name]
    if (!isObject(pair)) throw invalid(`${label} must be a pair`, describeType(pair))
    const key = pair['key'] || name
    const values = pair['values'] ?? []
    if (typeof key !== 'string')
      throw invalid(`key of ${label} must be a string`, describeType(key))
    if (!Array.isArray(values))
      throw invalid(`values of ${label} must be a list`, describeType(values))
    const lower = key.toLowerCase()
    if (RESERVED_HEADERS.has(lower) || lower.startsWith('mx-')) continue
    for (const value of values) {
      if (typeof value !== 'string')
        throw invalid(`values of ${label} must be strings`, describeType(value))
      length += key.length + value.length
      if (length > MAX_HEADER_LENGTH)
        throw invalid(`header must not be longer than ${MAX_HEADER_LENGTH}`, `${length} and more`)
      if (!append(headers, key, value))
        throw invalid(`${label} must have a token as key, and values without line breaks`, 'others')
    }
  }
}

function append(headers: HeaderList, name: string, text: string): boolean {
  try {
    headers.append(name, encodeHeaderValue(text))
    return true
  } catch {
    return false
  }
}

function toBody(body: unknown, encoding: unknown, invalid: CreateError): string | Uint8Array {
  if (body === null) return ''
  if (typeof body !== 'string') throw invalid('body must be a string', describeType(body))
  if (encoding === '') return body
  if (encoding !== 'base64') throw invalid('encoding must be "base64" or absent', 'another one')
  const bytes = decodeBase64(body)
  if (bytes === undefined) throw invalid('body must be Base64', 'another text')
  return bytes
}

/** Returns the response status, or undefined if it is invalid. 32-bit integers may be strings (ProtoJSON). */
function toStatus(statusCode: unknown): number | undefined {
  if (statusCode === undefined || statusCode === null) return 200
  const code =
    typeof statusCode === 'string' && DIGITS.test(statusCode) ? Number(statusCode) : statusCode
  if (code === 0) return 200
  return isFinalStatus(code) ? code : undefined
}

/** Encodes a string as a header value: UTF-8, one byte per character. */
function encodeHeaderValue(text: string): string {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7e) return Buffer.from(text).toString('latin1')
  }
  return text
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function describeType(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}
