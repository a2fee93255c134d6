/** Width of a tab in columns, equal to `tab-size` of `.log-text`. */
const TAB_COLUMNS = 4
const TAB = /\t/g
/** Matches characters outside Latin-1, which may be two columns wide, such as in East Asian scripts. */
const WIDE = /[^\x00-\xff]/

/** Maximum width of a text in columns of a monospaced font. */
export function countColumns(text: string): number {
  const tabs = text.includes('\t') ? text.match(TAB)!.length : 0
  return (WIDE.test(text) ? 2 * text.length : text.length) + tabs * (TAB_COLUMNS - 1)
}

/** Height in rows of a text wrapped at `columns`; 0 disables wrapping. */
export function countRows(textColumns: number, columns: number): number {
  return columns > 0 ? Math.max(1, Math.ceil(textColumns / columns)) : 1
}

/**
 * First row of each line, followed by the total number of rows.
 *
 * @param rowsOf returns the height in rows of the line at an index
 */
export function layOut(count: number, rowsOf: (index: number) => number): Uint32Array {
  const firstRows = new Uint32Array(count + 1)
  for (let i = 0; i < count; i++) firstRows[i + 1] = firstRows[i]! + rowsOf(i)
  return firstRows
}

/** Index of the line at a row, or the number of lines if the row is below the last line. */
export function findLine(firstRows: Uint32Array, row: number): number {
  let low = 0
  let high = firstRows.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (firstRows[middle + 1]! <= row) low = middle + 1
    else high = middle
  }
  return low
}
