const ORIGIN = /^([a-z][a-z0-9+.-]*:\/\/)(\*\.)?([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/
/** Browsers omit the default port (WHATWG URL, origin serialization), so such an entry would never match. */
const DEFAULT_PORT = /^(?:http:.*:80|https:.*:443)$/
const LABELS = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/

/**
 * Compiles a check of `Origin` values against a list with entries such as `https://app.example.com`, or
 * `https://*.example.com` for all subdomains.
 *
 * @throws {RangeError} if an entry is invalid.
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
    if (DEFAULT_PORT.test(entry)) {
      throw new RangeError(
        `origins must omit the default port of their scheme, as browsers do, got ${JSON.stringify(entry)}`,
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
