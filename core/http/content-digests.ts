import type { HeaderList } from './headers.ts'

/** Digests of a body or its representation (RFC 9530, RFC 3230, RFC 2616 §14.15). */
const DIGESTS = ['content-digest', 'repr-digest', 'digest', 'content-md5']

/** Removes digests, which do not match a changed body. */
export function removeDigests(headers: HeaderList): void {
  for (const name of DIGESTS) headers.delete(name)
}
