import { HeaderList } from '../../http/headers.ts'
import { parseMetadata } from '../metadata.ts'

/**
 * Headers that are not metadata in the HTTP transport: its own headers, hop-by-hop and framing headers (RFC 9112 §6,
 * RFC 9110 §7.6.1, §7.2), `Date`, which servers set, and `Origin`, by which services recognize cross-origin pages.
 */
const NO_METADATA = new Set([
  'connection',
  'content-length',
  'date',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'mx-endpoint',
  'mx-service',
  'mx-timeout',
  'origin',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Formats metadata as request headers, including `content-type`. Returns undefined if it is malformed. */
export function toRequestFields(metadata: string): string | undefined {
  if (metadata === '') return 'content-type: application/json\r\n'
  const fields = parseMetadata(metadata)
  if (fields === undefined) return undefined
  let text = ''
  let typed = false
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!
    // CGI-style servers cannot distinguish underscores from dashes (RFC 3875 §4.1.18).
    if (NO_METADATA.has(name) || name.includes('_')) continue
    if (name === 'content-type') {
      if (typed) continue
      typed = true
    }
    text += `${name}: ${fields[i + 1]}\r\n`
  }
  return typed ? text : `${text}content-type: application/json\r\n`
}

/** Formats metadata as response headers. Returns undefined if it is malformed. */
export function toReplyFields(metadata: string): HeaderList | undefined {
  const list = new HeaderList()
  if (metadata === '') return list
  const fields = parseMetadata(metadata)
  if (fields === undefined) return undefined
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!
    if (!NO_METADATA.has(name)) list.append(name, fields[i + 1]!)
  }
  return list
}

/** Extracts the metadata from request headers, consuming the headers. */
export function readMetadata(headers: HeaderList): string {
  headers.delete('mx-service')
  headers.delete('mx-endpoint')
  headers.delete('mx-timeout')
  return headers.format()
}
