import type { Exchange } from '../exchange.ts'

/**
 * The request line and fields to send upstream: the client's end-to-end fields and
 * what plugins made of them, framed anew (RFC 9112 §3, §6).
 */
export function formatRequestHead(x: Exchange): string {
  const { flat } = x.headers
  let { host } = x
  let fields = ''
  for (let i = 0; i < flat.length; i += 2) {
    // Set by a plugin: listeners keep the client's apart. Two would make the request malformed.
    if (flat[i] === 'host') host = flat[i + 1]!
    else fields += `${flat[i]}: ${flat[i + 1]}\r\n`
  }
  let head = `${x.method} ${x.target} HTTP/1.1\r\nhost: ${host}\r\n${fields}`
  const length = x.bodyLength
  if (length > 0) head += `content-length: ${length}\r\n`
  else if (length < 0) head += 'transfer-encoding: chunked\r\n'
  else if (x.method === 'POST' || x.method === 'PUT' || x.method === 'PATCH')
    head += 'content-length: 0\r\n'
  return `${head}\r\n`
}
