import type { ComponentChildren, JSX, TargetedKeyboardEvent } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { compareCells, type SortKey } from './compare-cells.ts'
import { useVisibleRows } from './virtual.ts'

export interface Column<Row> {
  readonly id: string
  readonly title: string
  /** What the cell shows: text, or parts. */
  readonly render: (row: Row) => ComponentChildren
  /** What rows are sorted by. @default the column does not sort */
  readonly sort?: (row: Row) => SortKey
  /** Numbers stand at the end. @default start */
  readonly align?: 'start' | 'end'
  /** The cell names its row. Exactly one column should. */
  readonly heading?: boolean
  /** Not shown on narrow screens. */
  readonly minor?: boolean
}

export interface TableProps<Row> {
  /** What the table lists, for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Names a row, unique. */
  readonly keyOf: (row: Row) => string
  /** Column it is sorted by at first. @default as they come */
  readonly sortedBy?: string
  readonly descending?: boolean
  /** What stands there when there are no rows. */
  readonly empty?: ComponentChildren
}

/** Pixels of a row: `--row` of tokens.css. Cells are one line, what is longer is cut. */
const ROW_PX = 36

/** A table that sorts by its headings; of long ones only the rows that are seen are drawn. Arrow keys go from row to row. */
export function Table<Row>(props: TableProps<Row>): JSX.Element {
  const { label, columns, rows, keyOf, empty } = props
  const [sorting, setSorting] = useState({
    id: props.sortedBy ?? '',
    descending: props.descending ?? false,
  })
  const sorted = useMemo(() => {
    const by = columns.find(({ id }) => id === sorting.id)?.sort
    if (by === undefined) return rows
    const keyed = rows.map((row) => ({ row, key: by(row) }))
    const sign = sorting.descending ? -1 : 1
    return keyed.sort((a, b) => sign * compareCells(a.key, b.key)).map(({ row }) => row)
  }, [rows, columns, sorting])
  const scroller = useRef<HTMLDivElement>(null)
  const { from, to, above, below } = useVisibleRows(scroller, sorted.length, ROW_PX)
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>
  const turn = (id: string): void =>
    setSorting((before) => ({ id, descending: before.id === id && !before.descending }))
  return (
    <section
      ref={scroller}
      class="table-scroll"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1)
      tabIndex={0}
      onKeyDown={moveFocus}
    >
      <table aria-label={label} aria-rowcount={sorted.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Heading
                key={column.id}
                column={column}
                direction={
                  sorting.id !== column.id
                    ? undefined
                    : sorting.descending
                      ? 'descending'
                      : 'ascending'
                }
                onSort={() => turn(column.id)}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <Spacer height={above} />}
          {sorted.slice(from, to).map((row, i) => (
            <tr key={keyOf(row)} aria-rowindex={from + i + 2}>
              {columns.map((column) => (
                <Cell key={column.id} column={column} row={row} />
              ))}
            </tr>
          ))}
          {below > 0 && <Spacer height={below} />}
        </tbody>
      </table>
    </section>
  )
}

function Heading<Row>({
  column: { id, title, sort, align, minor },
  direction,
  onSort,
}: {
  readonly column: Column<Row>
  readonly direction: 'ascending' | 'descending' | undefined
  readonly onSort: () => void
}): JSX.Element {
  return (
    <th scope="col" class={toClass(align, minor)} aria-sort={direction} data-column={id}>
      {sort === undefined ? (
        title
      ) : (
        <button type="button" class="table-sort" onClick={onSort}>
          {title}
          <span aria-hidden="true">
            {direction === undefined ? '' : direction === 'ascending' ? ' ↑' : ' ↓'}
          </span>
        </button>
      )}
    </th>
  )
}

function Cell<Row>({
  column: { render, align, heading, minor },
  row,
}: {
  readonly column: Column<Row>
  readonly row: Row
}): JSX.Element {
  const name = toClass(align, minor)
  if (heading === true)
    return (
      <th scope="row" class={name}>
        {render(row)}
      </th>
    )
  return <td class={name}>{render(row)}</td>
}

function Spacer({ height }: { readonly height: number }): JSX.Element {
  return <tr class="table-spacer" style={{ height: `${height}px` }} />
}

function toClass(align: 'start' | 'end' | undefined, minor: boolean | undefined): string {
  return [align === 'end' ? 'end' : '', minor === true ? 'minor' : ''].filter(Boolean).join(' ')
}

/** Up and down go to the first thing of the row above or below that takes focus. */
function moveFocus(event: TargetedKeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const row = event.target instanceof Element ? event.target.closest('tbody tr') : null
  if (row === null || isTextField(event.target)) return
  let next = event.key === 'ArrowDown' ? row.nextElementSibling : row.previousElementSibling
  if (next?.classList.contains('table-spacer')) next = null
  const target = next?.querySelector<HTMLElement>('a, button, input, [tabindex="0"]')
  if (target === null || target === undefined) return
  event.preventDefault()
  target.focus()
}

function isTextField(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement
}
