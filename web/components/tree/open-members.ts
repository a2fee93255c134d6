/** Members that are drawn of an object or list before somebody asks for more. */
export const MEMBERS = 100
/** Members that are drawn at first, of all objects and lists together. */
const MOST = 2000

/**
 * Which objects and lists of a JSON value are open at first: level by level, in their order, as long as not too much is drawn.
 * The outermost always is.
 */
export function findOpen(value: unknown, levels: number): ReadonlySet<unknown> {
  const open = new Set<unknown>()
  let drawn = 0
  let level = levels > 0 ? [value] : []
  for (let depth = 1; level.length > 0; depth++) {
    const next: unknown[] = []
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue
      const members = Object.values(each).slice(0, MEMBERS)
      if (drawn + members.length > MOST) continue
      drawn += members.length
      open.add(each)
      if (depth < levels) next.push(...members)
    }
    level = next
  }
  return open
}
