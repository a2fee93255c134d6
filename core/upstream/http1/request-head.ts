import type { Exchange } from '../../exchange.ts'
import { joinOnce } from '../../http/headers.ts'

/**
 * Formats the upstream request head: the client's end-to-end headers as changed by plugins, with new framing (RFC 9112
 * §3, §6).
 *
 * @param to `Host` unless set by a plugin. @default the host requested by the client
 */
export function formatRequestHead(x: Exchange, to: string = x.host): string {
  const { headers } = x
  // Set by a plugin, because listeners remove the client's. Two would make the request malformed.
  const override = headers.get('host')
  if (override !== undefined) headers.delete('host')
  const host = override ?? to
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

/** Formats the part between the target and the headers of this request. */
function formatStart(host: string, _method: string, text: string): string {
  return ` HTTP/1.1\r\nhost: ${host}\r\n${text}`
}
