/** Sort key of a cell; undefined sorts last. */
export type SortKey = string | number | undefined

const texts = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

/** Compares sort keys in ascending order: numbers by value, strings in natural order (`node-2` before `node-10`). */
export function compareCells(a: SortKey, b: SortKey): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return texts.compare(`${a}`, `${b}`)
}
