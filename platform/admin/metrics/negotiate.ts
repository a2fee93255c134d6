const OPEN_METRICS = 'application/openmetrics-text'
/** What the text format of Prometheus is asked for by; nothing at all is any. */
const TEXTS: ReadonlySet<string> = new Set(['text/plain', 'text/*', '*/*'])

/**
 * Whether an `Accept` field (RFC 9110 §12.5.1) asks for OpenMetrics 1.0 rather than for the text format of Prometheus, which whoever names
 * neither gets.
 */
export function prefersOpenMetrics(accept: string): boolean {
  let open = 0
  let text = 0
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const read = (name: string): string | undefined =>
      parameters.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1)
    const quality = Number(read('q') ?? 1)
    if (!(quality > 0)) continue
    if (type === OPEN_METRICS && (read('version') ?? '1.0.0').startsWith('1.'))
      open = Math.max(open, quality)
    else if (TEXTS.has(type)) text = Math.max(text, quality)
  }
  return open > 0 && open >= text
}
