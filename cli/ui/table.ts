import { findWidth } from './output.ts'
import { cutText, findTextWidth } from './text-width.ts'

const TAB = 8
const GAP = '  '
/** No column is made narrower. */
const MIN_WIDTH = 8
const CUT = '…'
/** What would break a line, or steer the terminal. */
const CONTROLS = /[\x00-\x1f\x7f-\x9f]/g

/**
 * Rows in columns that are filled up with tabs, and `gap` tabs more between them (reference 2.7, 7.6). On a terminal too narrow for
 * that the columns stand closer, and the widest are cut, the first one last: it names what commands are about.
 *
 * @param width characters of a line. @default that of the terminal; elsewhere nothing is ever cut
 */
export function formatTable(
  rows: readonly (readonly string[])[],
  gap: number,
  width: number = findWidth() ?? Number.POSITIVE_INFINITY,
): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll(CONTROLS, ' ')))
  const widths = measure(cells)
  const stops = widths.slice(0, -1).map((each) => TAB * (Math.floor(each / TAB) + 1 + gap))
  const isWide = sum(stops) + widths.at(-1)! > width
  const lines = isWide ? formatClose(cells, fit(widths, width)) : formatTabbed(cells, stops)
  return lines.map((line) => `${line}\n`).join('')
}

function formatTabbed(rows: readonly string[][], stops: readonly number[]): string[] {
  return rows.map((row) =>
    row
      .map((cell, i) => {
        const isLast = i === row.length - 1
        const tabs = stops[i]! / TAB - Math.floor(findTextWidth(cell) / TAB)
        return isLast ? cell : cell + '\t'.repeat(tabs)
      })
      .join(''),
  )
}

function formatClose(rows: readonly string[][], widths: readonly number[]): string[] {
  const cut = (cell: string, width: number): string => {
    const isWide = findTextWidth(cell) > width
    const shown = isWide ? cutText(cell, width - CUT.length) + CUT : cell
    return shown + ' '.repeat(width - findTextWidth(shown))
  }
  return rows.map((row) =>
    row
      .map((cell, i) => cut(cell, widths[i]!))
      .join(GAP)
      .trimEnd(),
  )
}

/** Narrower columns, as far as they may be. */
function fit(widths: readonly number[], width: number): readonly number[] {
  const fitted = [...widths]
  let over = sum(fitted) + GAP.length * (fitted.length - 1) - width
  for (; over > 0; over--) {
    const [first, ...others] = fitted
    const widest = Math.max(...others)
    if (widest > MIN_WIDTH) fitted[fitted.indexOf(widest, 1)] = widest - 1
    else if (first! > MIN_WIDTH) fitted[0] = first! - 1
    else break
  }
  return fitted
}

function measure(rows: readonly string[][]): readonly number[] {
  const count = Math.max(...rows.map((row) => row.length))
  return Array.from({ length: count }, (_, i) =>
    Math.max(...rows.map((row) => findTextWidth(row[i] ?? ''))),
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}
