import { isServiceName } from '../../core/registry/service-name.ts'
import type { UserIdRange } from '../../lib/process/sandbox/user-ids.ts'

/** The highest id a user may have: `(uid_t) -1` means none. */
const MAX_ID = 2 ** 32 - 2
const RANGE = /^\s*(\d{1,10})\s*-\s*(\d{1,10})\s*$/

/** Names of namespaces. @throws {RangeError} */
export function parseNamespaceNames(texts: readonly string[]): readonly string[] {
  return texts.map((text) => {
    const name = text.trim()
    if (isServiceName(name)) return name
    throw new RangeError(`must be names of namespaces, got ${JSON.stringify(text)}`)
  })
}

/** `first-last`, without the ids of root and of the system; `none` is undefined. @throws {RangeError} */
export function parseUserIds(text: string): UserIdRange | undefined {
  if (text.trim() === 'none') return undefined
  const [, first, last] = RANGE.exec(text) ?? []
  const range = { first: Number(first), last: Number(last) }
  if (range.first >= 1000 && range.last >= range.first && range.last <= MAX_ID) return range
  throw new RangeError(
    `must be a range of user ids from 1000 on such as 200000-209999, or none, got ${JSON.stringify(text)}`,
  )
}
