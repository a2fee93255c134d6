/** Port, and the dot that ends a fully qualified name (RFC 1034 §3.1). */
const TAIL = /\.?(?::\d{1,5})?$/

/** Extracts the name from a `Host` header: without port, in lower case. */
export function toHostName(host: string): string {
  return host.replace(TAIL, '').toLowerCase()
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Whether a text is a DNS name that a certificate can cover: lower case, not an address, no wildcard (RFC 1123 §2.1). */
export function isDnsName(text: string): boolean {
  const labels = text.split('.')
  // RFC 3696 §2: names that end in a number are addresses.
  return (
    text.length <= 253 &&
    labels.every((label) => LABEL.test(label)) &&
    !/^\d+$/.test(labels.at(-1)!)
  )
}
