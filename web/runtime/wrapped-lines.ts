/** Columns of a tab; `tab-size` of `.log-text` is the same. */
const TAB_COLUMNS = 4
const TAB = /\t/g
/** Outside Latin-1 a character may be two columns wide, such as of East Asian scripts. */
const WIDE = /[^\x00-\xff]/

/** Columns that a text takes in a monospaced font, at most. */
export function countColumns(text: string): number {
  const tabs = text.includes('\t') ? text.match(TAB)!.length : 0
  return (WIDE.test(text) ? 2 * text.length : text.length) + tabs * (TAB_COLUMNS - 1)
}

/** Rows that a text takes where lines break after `columns` columns; 0 columns: it does not break. */
export function countRows(textColumns: number, columns: number): number {
  return columns > 0 ? Math.max(1, Math.ceil(textColumns / columns)) : 1
}

/** First row of each line, and at last the number of rows. @param rowsOf rows of the line at an index */
export function layOut(count: number, rowsOf: (index: number) => number): Uint32Array {
  const firstRows = new Uint32Array(count + 1)
  for (let i = 0; i < count; i++) firstRows[i + 1] = firstRows[i]! + rowsOf(i)
  return firstRows
}

/** Index of the line that a row belongs to; below all of them: the number of lines. */
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
