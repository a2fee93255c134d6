import type { Exchange } from '../../../core/exchange.ts'

/** Headers with URLs of the service (RFC 9110 §10.2.2, §8.7). */
export const LOCATIONS: readonly string[] = ['location', 'content-location']

/** Replaces URLs and cookies in the headers of a response. */
export function mapReply(
  { replyHeaders }: Exchange,
  mapUrl: (url: string) => string,
  mapCookie: (cookie: string) => string,
): void {
  for (const name of LOCATIONS) {
    const value = replyHeaders.get(name)
    if (value !== undefined) replyHeaders.set(name, mapUrl(value))
  }
  const cookies = replyHeaders.getAll('set-cookie')
  if (cookies.length === 0) return
  replyHeaders.delete('set-cookie')
  for (const cookie of cookies) replyHeaders.append('set-cookie', mapCookie(cookie))
}
