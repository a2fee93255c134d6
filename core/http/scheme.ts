import type { HeaderList } from './headers.ts'

/** Scheme used by the client, from the connection or a trusted proxy (`forwarded` plugin). */
export function schemeOf({
  secure,
  headers,
}: {
  readonly secure: boolean
  readonly headers: Pick<HeaderList, 'get'>
}): 'http' | 'https' {
  const proto = headers.get('x-forwarded-proto') ?? (secure ? 'https' : 'http')
  return proto === 'https' ? 'https' : 'http'
}
