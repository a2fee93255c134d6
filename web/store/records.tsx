import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { CallStatus } from '../components/call-status.tsx'
import { Search } from '../components/search.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { formatBytes } from '../components/time/format.ts'
import { useCall, useWatch } from '../hooks/use-call.ts'
import { useDebounce } from '../hooks/use-debounce.ts'
import { query, setQuery } from '../state/router.ts'
import { decodeBase64 } from './base64.ts'
import { formatExpiry } from './expiry.ts'
import { NewRecord } from './new-record.tsx'
import { type ReadRecord, sizeOf } from './record.ts'
import { RecordEditor } from './record-editor.tsx'
import { readPage, type Table as StoreTable, watchTable } from './service.ts'
import { toPreview } from './value-format.ts'

const PAGE_SIZE = 50
const PREVIEW_LENGTH = 80
/** Limits how often a frequently written table is read. */
const DEBOUNCE_MS = 1000

/** Records of a table, paginated, with an editor for the selected record. */
export function Records({ database, table }: StoreTable): JSX.Element {
  const prefix = query.value.get('prefix') ?? ''
  /** Cursors of the pages up to the current one. */
  const [cursors, setCursors] = useState<readonly string[]>([''])
  const [selected, setSelected] = useState<ReadRecord>()
  const [isAdding, setAdding] = useState(false)
  const after = cursors.at(-1)!
  const read = useCall(
    async (signal) => {
      const page = await readPage({ database, table, prefix, after, limit: PAGE_SIZE }, signal)
      const readMs = Date.now()
      return { ...page, records: page.records.map((record) => ({ ...record, readMs })) }
    },
    [prefix, after],
  )
  const { state, value, reload } = read
  const reloadSoon = useDebounce(reload, DEBOUNCE_MS)
  // Changes before the start of the watch were not received.
  useWatch(() => watchTable({ database, table }), reloadSoon, [], { onLive: reloadSoon })
  const columns = useMemo(
    () =>
      toColumns((record) => {
        setAdding(false)
        setSelected(record)
      }),
    [],
  )
  // The editor stays open if the record is on another page or deleted, because it may contain unsaved input.
  const record = value?.records.find(({ key }) => key === selected?.key) ?? selected

  return (
    <div class="records">
      <div class="records-tools">
        <Search
          label="Key prefix"
          value={prefix}
          onInput={(text) => {
            setCursors([''])
            setQuery('prefix', text)
          }}
        />
        <button
          type="button"
          disabled={cursors.length === 1}
          onClick={() => setCursors(cursors.slice(0, -1))}
        >
          Previous page
        </button>
        <button
          type="button"
          disabled={value?.next === undefined || state === 'loading'}
          onClick={() => setCursors([...cursors, value!.next!])}
        >
          Next page
        </button>
        <span role="status">
          {value !== undefined && describePage(cursors.length, value.records.length)}
        </span>
        <button type="button" onClick={reload}>
          Reload
        </button>
        <button type="button" aria-pressed={isAdding} onClick={() => setAdding(!isAdding)}>
          New record
        </button>
      </div>
      <CallStatus call={read} subject={`records of ${database}/${table}`} />
      {isAdding && (
        <NewRecord
          table={{ database, table }}
          prefix={prefix}
          onWritten={(written) => {
            setAdding(false)
            setSelected({ ...written, readMs: Date.now() })
            reload()
          }}
        />
      )}
      {value !== undefined && (
        <Table
          label={`Records of ${table}`}
          columns={columns}
          rows={value.records}
          keyOf={({ key }) => key}
          empty={<Empty title={prefix === '' ? 'No records' : `No keys start with ${prefix}`} />}
        />
      )}
      {record !== undefined && !isAdding && (
        <RecordEditor
          key={record.key}
          table={{ database, table }}
          record={record}
          onWritten={reload}
          onDeleted={() => {
            setSelected(undefined)
            reload()
          }}
        />
      )}
    </div>
  )
}

function toColumns(onSelect: (record: ReadRecord) => void): readonly Column<ReadRecord>[] {
  return [
    {
      ...{ id: 'key', title: 'Key', heading: true },
      render: (record) => (
        <button type="button" class="quiet record-key" onClick={() => onSelect(record)}>
          {record.key}
        </button>
      ),
    },
    {
      ...{ id: 'value', title: 'Value' },
      render: ({ value }) => (
        <code>{toPreview(decodeBase64(value.slice(0, 8 * PREVIEW_LENGTH)), PREVIEW_LENGTH)}</code>
      ),
    },
    {
      ...{ id: 'size', title: 'Size', align: 'end', minor: true },
      render: (record) => formatBytes(sizeOf(record)),
    },
    {
      ...{ id: 'expiry', title: 'Expires in', minor: true },
      render: ({ expiry }) => formatExpiry(expiry),
    },
    {
      ...{ id: 'version', title: 'Version', align: 'end', minor: true },
      render: ({ version }) => version,
    },
  ]
}

function describePage(page: number, count: number): string {
  return `Page ${page}, ${count === 1 ? '1 record' : `${count} records`}`
}
