import { formatAccount } from '../auth/account-text.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { createHeaderBlock, type HeaderBlock, HeaderList, joinOnce } from '../http/headers.ts'
import { NOT_OF_SERVICES } from '../http/hop-by-hop.ts'
import { parseMetadata } from './metadata.ts'

/** Answers hold what one caller may see: no cache between keeps them. */
export const JSON_REPLY: HeaderBlock = createHeaderBlock([
  'content-type',
  'application/json',
  'cache-control',
  'no-store',
  'vary',
  'authorization, mx-namespace',
])

/**
 * The context of the call a request becomes (specification: Server API gateway): its end-to-end fields,
 * and `host`, `method` and `url` as the gateway got them. `mx-*` fields of clients ended at the listener; `mx-account` is who calls, where that counts.
 */
export function formatContext(x: Exchange): string {
  const { headers } = x
  if (hasOwn(headers)) for (const name of OWN) headers.delete(name)
  const { block } = headers
  const start =
    block === undefined
      ? formatStart(x.host, x.method, '')
      : joinOnce(block, 1, x.host, x.method, formatStart)
  const context = headers.formatRest(`${start}${x.target}\r\n`)
  const { toldAccount } = x
  return toldAccount === undefined
    ? context
    : `${context}mx-account: ${formatAccount(toldAccount)}\r\n`
}

const OWN = ['host', 'method', 'url']

/** In one pass, by length first: there hardly ever is one. */
function hasOwn({ flat }: HeaderList): boolean {
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (
      name.length === 4 ? name === 'host' : name.length === 6 ? name === 'method' : name === 'url'
    )
      return true
  }
  return false
}

/** What comes before the target. */
function formatStart(host: string, method: string, text: string): string {
  return `host: ${host}\r\nmethod: ${method}\r\n${text}url: `
}

/**
 * Fields of the reply from the metadata of an answer; those of `standard` where it has none of that name. Undefined when the
 * metadata is malformed.
 */
export function toReplyHeaders(metadata: string, standard: HeaderBlock): HeaderList | undefined {
  if (metadata === '') return HeaderList.of(standard)
  const fields = parseMetadata(metadata)
  if (fields === undefined) return undefined
  const headers = new HeaderList()
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!
    if (isOfServices(name)) headers.append(name, fields[i + 1]!)
  }
  for (let i = 0; i < standard.fields.length; i += 2) {
    const name = standard.fields[i]!
    if (!headers.has(name)) headers.append(name, standard.fields[i + 1]!)
  }
  return headers
}

/** An error of a service as clients may see it: of its fields those that services decide. */
export function toClientError(error: GatewayError): GatewayError {
  const { id, code, message, headers, cause } = error
  if (headers === undefined) return error
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2)
    if (isOfServices(headers[i]!)) kept.push(headers[i]!, headers[i + 1]!)
  return new GatewayError(id, code, message, { cause, headers: kept })
}

function isOfServices(name: string): boolean {
  return !NOT_OF_SERVICES.has(name) && !name.startsWith('mx-')
}

/** Whether a content type is JSON. */
export function isJson(contentType: string): boolean {
  return /^application\/(?:[\w.+-]*\+)?json(?:[\s;-]|$)/i.test(contentType)
}
