import type { ComponentChildren, JSX, TargetedKeyboardEvent } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { compareCells, type SortKey } from './compare-cells.ts'
import { useVisibleRows } from './virtual.ts'

export interface Column<Row> {
  readonly id: string
  readonly title: string
  readonly render: (row: Row) => ComponentChildren
  /** Returns the sort key of a row. @default the column is not sortable */
  readonly sort?: (row: Row) => SortKey
  /** `end` for numbers. @default start */
  readonly align?: 'start' | 'end'
  /** True if the cell is the row header. Exactly one column must set this. */
  readonly heading?: boolean
  /** True to hide the column on narrow screens. */
  readonly minor?: boolean
}

export interface TableProps<Row> {
  /** Accessible name. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Unique key of a row. */
  readonly keyOf: (row: Row) => string
  /** Initial sort column. @default the order of `rows` */
  readonly sortedBy?: string
  readonly descending?: boolean
  /** Shown instead of a table without rows. */
  readonly empty?: ComponentChildren
}

/** Row height in pixels, equal to `--row` in tokens.css. Cells are truncated to one line. */
const ROW_PX = 36

/** Sortable, virtualized table. Arrow keys move between rows. */
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
  const toggleSort = (id: string): void =>
    setSorting((before) => ({ id, descending: before.id === id && !before.descending }))
  return (
    <section
      ref={scroller}
      class="table-scroll"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be reachable by keyboard (WCAG 2.1.1)
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
                onSort={() => toggleSort(column.id)}
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

/** Arrow up and down focus the first focusable element of the previous or next row. */
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
