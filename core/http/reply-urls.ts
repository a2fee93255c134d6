import type { HeaderList } from './headers.ts'

/** Headers that contain URLs of the service (RFC 9110 §10.2.2, §8.7). */
const LOCATIONS = ['location', 'content-location']

/** Maps the URLs and cookies in response headers. */
export function mapReplyUrls(
  headers: HeaderList,
  mapUrl: (url: string) => string,
  mapCookie: (cookie: string) => string,
): void {
  for (const name of LOCATIONS) {
    const value = headers.get(name)
    if (value !== undefined) headers.set(name, mapUrl(value))
  }
  const cookies = headers.getAll('set-cookie')
  if (cookies.length === 0) return
  headers.delete('set-cookie')
  for (const cookie of cookies) headers.append('set-cookie', mapCookie(cookie))
}
