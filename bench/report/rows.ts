import { readOrigin, writeResult } from '../http/results.ts'

/** Results of a contestant: its name, followed by its figures. */
export type Row = Readonly<Record<string, string | number>>

/** Prints results and writes them to `bench/results`. */
export function reportRows(
  name: string,
  title: string,
  conditions: string,
  rows: readonly Row[],
): void {
  process.stdout.write(`${conditions}\n`)
  console.table(rows)
  const { machine, ...origin } = readOrigin(`npm run bench ${name} --`, 'none')
  // The benchmarks that use this function do not pin processors.
  const localOrigin = { ...origin, machine: { ...machine, pinned: false } }
  const path = writeResult(
    name,
    title,
    localOrigin,
    { conditions, rows },
    `${conditions}.\n\n${formatRows(rows)}`,
  )
  process.stdout.write(`Written to ${path}.md and .json\n`)
}

/** Formats a Markdown table whose columns are the fields of the first row. */
export function formatRows(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {})
  const lines = [
    columns,
    columns.map((_, i) => (i === 0 ? '---' : '--:')),
    ...rows.map((row) => columns.map((column) => String(row[column]))),
  ]
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}
