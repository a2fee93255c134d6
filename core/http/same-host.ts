/** Whether a page came from the host the request is for; a port that is the scheme's own may be left out. */
export function isSameHost(origin: string, host: string): boolean {
  // As browsers write it; what follows takes microseconds.
  if (origin === `http://${host}` || origin === `https://${host}`) return true
  const scheme = /^https?:\/\//i.exec(origin)?.[0]
  if (scheme === undefined || !URL.canParse(origin) || !URL.canParse(scheme + host)) return false
  return new URL(origin).host === new URL(scheme + host).host
}
