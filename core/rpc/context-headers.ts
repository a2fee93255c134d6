import { formatAccount } from '../auth/account-text.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { createHeaderBlock, type HeaderBlock, HeaderList, joinOnce } from '../http/headers.ts'
import { RESERVED_HEADERS } from '../http/hop-by-hop.ts'
import { parseMetadata } from './metadata.ts'

/** Default headers of JSON responses. The responses depend on the caller, so shared caches must not store them. */
export const JSON_REPLY: HeaderBlock = createHeaderBlock([
  'content-type',
  'application/json',
  'cache-control',
  'no-store',
  'vary',
  'authorization, mx-namespace',
])

/**
 * Builds the metadata for a request that becomes a call (specification: Server API gateway): its end-to-end headers,
 * plus `host`, `method` and `url` as received by the gateway. The listener drops `mx-*` headers from clients;
 * `mx-account` identifies the caller.
 */
export function formatContext(x: Exchange): string {
  const { headers } = x
  if (hasReserved(headers)) for (const name of RESERVED) headers.delete(name)
  const { block } = headers
  const start =
    block === undefined
      ? formatStart(x.host, x.method, '')
      : joinOnce(block, 1, x.host, x.method, formatStart)
  const context = headers.formatRest(`${start}${x.target}\r\n`)
  const { forwardedAccount: account } = x
  return account === undefined ? context : `${context}mx-account: ${formatAccount(account)}\r\n`
}

const RESERVED = ['host', 'method', 'url']

/** Scans once and checks the length first, because these headers are rare. */
function hasReserved({ flat }: HeaderList): boolean {
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (
      name.length === 4 ? name === 'host' : name.length === 6 ? name === 'method' : name === 'url'
    )
      return true
  }
  return false
}

function formatStart(host: string, method: string, text: string): string {
  return `host: ${host}\r\nmethod: ${method}\r\n${text}url: `
}

/**
 * Builds response headers from the metadata of a call, with the defaults of `standard`. Returns undefined if the
 * metadata is malformed.
 */
export function toReplyHeaders(metadata: string, standard: HeaderBlock): HeaderList | undefined {
  if (metadata === '') return HeaderList.of(standard)
  const fields = parseMetadata(metadata)
  if (fields === undefined) return undefined
  const headers = new HeaderList()
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!
    if (isServiceHeader(name)) headers.append(name, fields[i + 1]!)
  }
  for (let i = 0; i < standard.fields.length; i += 2) {
    const name = standard.fields[i]!
    if (!headers.has(name)) headers.append(name, standard.fields[i + 1]!)
  }
  return headers
}

/** Converts a service error for clients, removing headers managed by the gateway. */
export function toClientError(error: GatewayError): GatewayError {
  const { id, code, message, headers, cause } = error
  if (headers === undefined) return error
  const allowed: string[] = []
  for (let i = 0; i < headers.length; i += 2)
    if (isServiceHeader(headers[i]!)) allowed.push(headers[i]!, headers[i + 1]!)
  return new GatewayError(id, code, message, { cause, headers: allowed })
}

function isServiceHeader(name: string): boolean {
  return !RESERVED_HEADERS.has(name) && !name.startsWith('mx-')
}

export function isJson(contentType: string): boolean {
  return /^application\/(?:[\w.+-]*\+)?json(?:[\s;-]|$)/i.test(contentType)
}
