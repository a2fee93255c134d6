import type { Exchange } from '../exchange.ts'

/**
 * The request line and fields to send upstream: the client's end-to-end fields and
 * what plugins made of them, framed anew (RFC 9112 §3, §6).
 */
export function formatRequestHead(x: Exchange): string {
  const { headers } = x
  // Set by a plugin: listeners keep the client's apart. Two would make the request malformed.
  const host = headers.get('host')
  if (host !== undefined) headers.delete('host')
  let head = `${x.method} ${x.target} HTTP/1.1\r\nhost: ${host ?? x.host}\r\n${headers.format()}`
  const length = x.bodyLength
  if (length > 0) head += `content-length: ${length}\r\n`
  else if (length < 0) head += 'transfer-encoding: chunked\r\n'
  else if (x.method === 'POST' || x.method === 'PUT' || x.method === 'PATCH')
    head += 'content-length: 0\r\n'
  return `${head}\r\n`
}
