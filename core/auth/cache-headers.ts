import type { HeaderList } from '../http/headers.ts'

/**
 * `Cache-Control` directives that allow shared caches to store a response (RFC 9111 §3.5), and the form of `private`
 * that is limited to some headers.
 */
const SHARED = /^(?:public|s-maxage|proxy-revalidate|private)(?:\s*=|$)/i
/** Headers that override `Cache-Control` in some caches (RFC 9213). */
const TARGETED = ['cdn-cache-control', 'surrogate-control']

/** Marks a response as private: shared caches must not store it. */
export function keepPrivate(headers: HeaderList): void {
  const existing = headers.get('cache-control')
  if (existing !== 'no-store') {
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

/** Adds `Authorization` to `Vary`: the response depends on the caller. */
export function varyByCaller(headers: HeaderList): void {
  const listed = headers
    .getAll('vary')
    .flatMap((value) => value.split(','))
    .map((name) => name.trim().toLowerCase())
  if (!listed.includes('*') && !listed.includes('authorization'))
    headers.append('vary', 'authorization')
}

/** Splits at commas outside quotes. */
function splitDirectives(value: string): string[] {
  return (value.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? []).map((directive) => directive.trim())
}
