import { findWidth } from './output.ts'
import { cutText, findTextWidth } from './text-width.ts'

const TAB = 8
const GAP = '  '
/** Minimum width of a column. */
const MIN_WIDTH = 8
const ELLIPSIS = '…'
const CONTROLS = /[\x00-\x1f\x7f-\x9f]/g

/**
 * Formats rows as columns, padded with tabs and `gap` extra tabs (reference 2.7, 7.6). On a narrow terminal, columns
 * are padded with spaces and the widest are truncated. The first column, which contains the names, is truncated last.
 *
 * @param width line width. @default width of the terminal; unlimited without a terminal
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
  const lines = isWide ? formatClose(cells, fitWidths(widths, width)) : formatTabbed(cells, stops)
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
    const content = isWide ? cutText(cell, width - ELLIPSIS.length) + ELLIPSIS : cell
    return content + ' '.repeat(width - findTextWidth(content))
  }
  return rows.map((row) =>
    row
      .map((cell, i) => cut(cell, widths[i]!))
      .join(GAP)
      .trimEnd(),
  )
}

/** Shrinks the widest columns, at most to the minimum width. */
function fitWidths(widths: readonly number[], width: number): readonly number[] {
  const fitted = [...widths]
  let excess = sum(fitted) + GAP.length * (fitted.length - 1) - width
  for (; excess > 0; excess--) {
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
