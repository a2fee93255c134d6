/** Port, and the dot that ends a fully qualified name (RFC 1034 §3.1). */
const TAIL = /\.?(?::\d{1,5})?$/

/** The name in a `Host` field: without port, in lower case. */
export function toHostName(host: string): string {
  return host.replace(TAIL, '').toLowerCase()
}
