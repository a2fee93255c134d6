import type { Exchange } from '../../exchange.ts'
import { joinOnce } from '../../http/headers.ts'

/**
 * The request line and fields to send upstream: the client's end-to-end fields and
 * what plugins made of them, framed anew (RFC 9112 §3, §6).
 */
export function formatRequestHead(x: Exchange): string {
  const { headers } = x
  // Set by a plugin: listeners keep the client's apart. Two would make the request malformed.
  const own = headers.get('host')
  if (own !== undefined) headers.delete('host')
  const host = own ?? x.host
  const { block } = headers
  const start =
    block === undefined ? formatStart(host, '', '') : joinOnce(block, 0, host, '', formatStart)
  let head = headers.formatRest(`${x.method} ${x.target}${start}`)
  const length = x.bodyLength
  if (length > 0) head += `content-length: ${length}\r\n`
  else if (length < 0) head += 'transfer-encoding: chunked\r\n'
  else if (x.method === 'POST' || x.method === 'PUT' || x.method === 'PATCH')
    head += 'content-length: 0\r\n'
  return `${head}\r\n`
}

/** What follows the target, up to the fields of this request alone. */
function formatStart(host: string, _method: string, text: string): string {
  return ` HTTP/1.1\r\nhost: ${host}\r\n${text}`
}
