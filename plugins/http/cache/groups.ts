import type { HeaderList } from '../../../core/http/headers.ts'

/** Maximum number of groups of a response that are used; at least 32 are required (RFC 9875 §2). */
const GROUPS_MAX = 128
const GROUP_MAX_LENGTH = 256
/** String of a structured field (RFC 9651 §3.3.3), and its parameters. */
const MEMBER = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"(?:;.*)?$/
const ITEM = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g

/** Returns the groups of a response: `Cache-Groups` (RFC 9875) and `Surrogate-Key`. */
export function readGroups(headers: HeaderList): readonly string[] {
  const names = new Set(readList(headers, 'cache-groups'))
  for (const value of headers.getAll('surrogate-key'))
    for (const name of value.split(/\s+/)) if (name !== '') names.add(name)
  return [...names].filter(({ length }) => length <= GROUP_MAX_LENGTH).slice(0, GROUPS_MAX)
}

/** Returns the groups that a response to an unsafe request invalidates (RFC 9875 §3). */
export function readInvalidatedGroups(headers: HeaderList): readonly string[] {
  return readList(headers, 'cache-group-invalidation').slice(0, GROUPS_MAX)
}

/** Parses a list of strings; an invalid list is empty. */
function readList(headers: HeaderList, name: string): string[] {
  if (!headers.has(name)) return []
  const groups: string[] = []
  for (const item of headers.getAll(name).join(',').match(ITEM) ?? []) {
    const match = MEMBER.exec(item.trim())
    if (match === null) return []
    groups.push(match[1]!.replace(/\\(.)/g, '$1'))
  }
  return groups
}
