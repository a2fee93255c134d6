/** Whether an origin matches the host of the request. The default port of the scheme may be omitted. */
export function isSameHost(origin: string, host: string): boolean {
  // Fast path for the usual form; parsing takes microseconds.
  if (origin === `http://${host}` || origin === `https://${host}`) return true
  const scheme = /^https?:\/\//i.exec(origin)?.[0]
  if (scheme === undefined || !URL.canParse(origin) || !URL.canParse(scheme + host)) return false
  return new URL(origin).host === new URL(scheme + host).host
}
