/** What a cell is sorted by; undefined: unknown, and last. */
export type SortKey = string | number | undefined

const texts = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

/** Order of cells, ascending: numbers by value, texts as people read them (`node-2` before `node-10`). */
export function compareCells(a: SortKey, b: SortKey): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return texts.compare(`${a}`, `${b}`)
}
