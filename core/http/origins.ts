const ORIGIN = /^([a-z][a-z0-9+.-]*:\/\/)(\*\.)?([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/
/** Browsers leave the port of the scheme out (WHATWG URL, origin serialization): such an entry would be nobody's. */
const OWN_PORT = /^(?:http:.*:80|https:.*:443)$/
const LABELS = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/

/**
 * Whether an `Origin` value is one of those listed: `https://app.example.com`, or `https://*.example.com` for every name below.
 *
 * @throws {RangeError} naming the entry that is no origin.
 */
export function compileOrigins(origins: readonly string[]): (origin: string) => boolean {
  const exact = new Set<string>()
  const subdomains: { scheme: string; suffix: string }[] = []
  for (const entry of origins) {
    const match = ORIGIN.exec(entry)
    if (match === null) {
      throw new RangeError(
        `origins must be like https://app.example.com, http://localhost:3000, https://*.example.com or *, got ${JSON.stringify(entry)}`,
      )
    }
    if (OWN_PORT.test(entry)) {
      throw new RangeError(
        `origins must be without the port of their scheme, as browsers send them, got ${JSON.stringify(entry)}`,
      )
    }
    const [, scheme = '', wildcard, host = '', port = ''] = match
    if (wildcard === undefined) exact.add(entry)
    else subdomains.push({ scheme, suffix: `.${host}${port}` })
  }
  return (origin) =>
    exact.has(origin) ||
    subdomains.some(
      ({ scheme, suffix }) =>
        origin.startsWith(scheme) &&
        origin.endsWith(suffix) &&
        LABELS.test(
          origin.slice(scheme.length, Math.max(scheme.length, origin.length - suffix.length)),
        ),
    )
}
