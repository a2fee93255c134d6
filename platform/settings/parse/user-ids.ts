import type { UserIdRange } from '../../../lib/process/sandbox/user-ids.ts'
import { single } from '../../../lib/values/value.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'

/** Highest user id, because `(uid_t) -1` means none. */
const MAX_ID = 2 ** 32 - 2
const RANGE = /^\s*(\d{1,10})\s*-\s*(\d{1,10})\s*$/

/** A range that excludes the ids of root and the system; undefined for `none`. */
export const USER_IDS: ValueType<UserIdRange | undefined> = single(
  'first-last',
  'a range of user ids from 1000 on such as 200000-209999, or none',
  (text, reject) => {
    if (text.trim() === 'none') return undefined
    const [, first, last] = RANGE.exec(text) ?? []
    const range = { first: Number(first), last: Number(last) }
    if (range.first >= 1000 && range.last >= range.first && range.last <= MAX_ID) return range
    throw reject()
  },
)
