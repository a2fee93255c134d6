import type { HeaderList } from '../http/headers.ts'

/** Directives of `Cache-Control` by which caches that many share would keep a reply (RFC 9111 §3.5), and `private` of some fields only. */
const SHARED = /^(?:public|s-maxage|proxy-revalidate|private)(?:\s*=|$)/i
/** What tells some caches more than `Cache-Control` does (RFC 9213). */
const TARGETED = ['cdn-cache-control', 'surrogate-control']

/** Makes a reply one for its caller alone: no cache that others share keeps it. */
export function keepPrivate(headers: HeaderList): void {
  const given = headers.get('cache-control')
  if (given !== 'no-store') {
    const directives = headers
      .getAll('cache-control')
      .flatMap((value) => splitDirectives(value))
      .filter((directive) => directive !== '' && !SHARED.test(directive))
    if (!directives.some((directive) => /^no-store$/i.test(directive))) directives.push('private')
    headers.set('cache-control', directives.join(', '))
    for (const name of TARGETED) headers.delete(name)
  }
  varyByCaller(headers)
}

/** Adds `Authorization` to `Vary` unless it is there: the response depends on the caller. */
export function varyByCaller(headers: HeaderList): void {
  const named = headers
    .getAll('vary')
    .flatMap((value) => value.split(','))
    .map((name) => name.trim().toLowerCase())
  if (!named.includes('*') && !named.includes('authorization'))
    headers.append('vary', 'authorization')
}

/** At commas, but for those within quotes. */
function splitDirectives(value: string): string[] {
  return (value.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? []).map((directive) => directive.trim())
}
