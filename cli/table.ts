const TAB = 8

/** Rows in columns that are filled up with tabs, and `gap` tabs more between them (reference 2.7, 7.6). */
export function formatTable(rows: readonly (readonly string[])[], gap: number): string {
  const count = Math.max(...rows.map((row) => row.length))
  const widths = Array.from({ length: count }, (_, i) =>
    Math.max(...rows.map((row) => row[i]?.length ?? 0)),
  )
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => {
        if (i === row.length - 1) return cell
        const stop = Math.floor(widths[i]! / TAB) + 1
        return cell + '\t'.repeat(stop - Math.floor(cell.length / TAB) + gap)
      })
      .join('')
  return rows.map((row) => `${line(row)}\n`).join('')
}
