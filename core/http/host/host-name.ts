/** Port, preceded by the dot of a fully qualified name (RFC 1034 §3.1). */
const TAIL = /\.?(?::\d{1,5})?$/

/** Extracts the host name from a `Host` header, without port and in lower case. */
export function toHostName(host: string): string {
  return host.replace(TAIL, '').toLowerCase()
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Whether a text is a DNS name that a certificate can cover: lower case, neither an address nor a wildcard (RFC 1123
 * §2.1).
 */
export function isDnsName(text: string): boolean {
  const labels = text.split('.')
  // RFC 3696 §2: names with a numeric last label are addresses.
  return (
    text.length <= 253 &&
    labels.every((label) => LABEL.test(label)) &&
    !/^\d+$/.test(labels.at(-1)!)
  )
}
