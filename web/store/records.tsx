import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { Search } from '../components/search.tsx'
import { Empty, Loading } from '../components/states.tsx'
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

const PAGE_LENGTH = 50
const PREVIEW_LENGTH = 80
/** Of a table that is written all the time the page is read as often. */
const CHANGES_MS = 1000

/** The records of a table, a page at a time, and the one that is chosen. */
export function Records({ database, table }: StoreTable): JSX.Element {
  const prefix = query.value.get('prefix') ?? ''
  /** Keys behind which the pages before and this one begin. */
  const [places, setPlaces] = useState<readonly string[]>([''])
  const [chosen, setChosen] = useState<ReadRecord>()
  const [isAdding, setAdding] = useState(false)
  const after = places.at(-1)!
  const { state, value, error, reload } = useCall(
    async (signal) => {
      const page = await readPage({ database, table, prefix, after, limit: PAGE_LENGTH }, signal)
      const readMs = Date.now()
      return { ...page, records: page.records.map((record) => ({ ...record, readMs })) }
    },
    [prefix, after],
  )
  const reloadSoon = useDebounce(reload, CHANGES_MS)
  // What was written while nobody watched was not told.
  useWatch(() => watchTable({ database, table }), reloadSoon, [], { onLive: reloadSoon })
  const columns = useMemo(
    () =>
      toColumns((record) => {
        setAdding(false)
        setChosen(record)
      }),
    [],
  )
  // One that is on another page, or gone, stays: somebody may be typing.
  const record = value?.records.find(({ key }) => key === chosen?.key) ?? chosen

  return (
    <div class="records">
      <div class="records-tools">
        <Search
          label="Keys that begin with"
          value={prefix}
          onInput={(text) => {
            setPlaces([''])
            setQuery('prefix', text)
          }}
        />
        <button
          type="button"
          disabled={places.length === 1}
          onClick={() => setPlaces(places.slice(0, -1))}
        >
          Previous page
        </button>
        <button
          type="button"
          disabled={value?.next === undefined || state === 'loading'}
          onClick={() => setPlaces([...places, value!.next!])}
        >
          Next page
        </button>
        <span role="status">
          {value !== undefined && describePage(places.length, value.records.length)}
        </span>
        <button type="button" onClick={reload}>
          Reload
        </button>
        <button type="button" aria-pressed={isAdding} onClick={() => setAdding(!isAdding)}>
          New record
        </button>
      </div>
      {error !== undefined && (
        <Problem error={error} asked={`records of ${database}/${table}`} onRetry={reload} />
      )}
      {value === undefined && state === 'loading' && <Loading />}
      {isAdding && (
        <NewRecord
          table={{ database, table }}
          prefix={prefix}
          onWritten={(written) => {
            setAdding(false)
            setChosen({ ...written, readMs: Date.now() })
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
          empty={<Empty title={prefix === '' ? 'No records' : `No key begins with ${prefix}`} />}
        />
      )}
      {record !== undefined && !isAdding && (
        <RecordEditor
          key={record.key}
          table={{ database, table }}
          record={record}
          onWritten={reload}
          onDeleted={() => {
            setChosen(undefined)
            reload()
          }}
        />
      )}
    </div>
  )
}

function toColumns(onChoose: (record: ReadRecord) => void): readonly Column<ReadRecord>[] {
  return [
    {
      ...{ id: 'key', title: 'Key', heading: true },
      render: (record) => (
        <button type="button" class="quiet record-key" onClick={() => onChoose(record)}>
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
      ...{ id: 'expiry', title: 'Ends in', minor: true },
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
