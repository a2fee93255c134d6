const OPEN_METRICS = 'application/openmetrics-text'
/** Media ranges that select the Prometheus text format, which is also the default. */
const TEXTS: ReadonlySet<string> = new Set(['text/plain', 'text/*', '*/*'])

/**
 * Returns whether the `Accept` header (RFC 9110 §12.5.1) prefers OpenMetrics 1.0 over the
 * Prometheus text format, the default.
 */
export function prefersOpenMetrics(accept: string): boolean {
  let openQuality = 0
  let textQuality = 0
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const readParameter = (name: string): string | undefined =>
      parameters.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1)
    const quality = Number(readParameter('q') ?? 1)
    if (!(quality > 0)) continue
    if (type === OPEN_METRICS && (readParameter('version') ?? '1.0.0').startsWith('1.'))
      openQuality = Math.max(openQuality, quality)
    else if (TEXTS.has(type)) textQuality = Math.max(textQuality, quality)
  }
  return openQuality > 0 && openQuality >= textQuality
}
