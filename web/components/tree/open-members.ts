/** Number of members of an object or list that are rendered before "Show more". */
export const MEMBERS = 100
/** Total number of members rendered initially. */
const MAX_RENDERED = 2000

/**
 * Selects the objects and lists of a JSON value that are initially expanded, breadth-first and up to a total of
 * {@link MAX_RENDERED} members.
 */
export function findOpen(value: unknown, levels: number): ReadonlySet<unknown> {
  const open = new Set<unknown>()
  let rendered = 0
  let level = levels > 0 ? [value] : []
  for (let depth = 1; level.length > 0; depth++) {
    const next: unknown[] = []
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue
      const members = Object.values(each).slice(0, MEMBERS)
      if (rendered + members.length > MAX_RENDERED) continue
      rendered += members.length
      open.add(each)
      if (depth < levels) next.push(...members)
    }
    level = next
  }
  return open
}
