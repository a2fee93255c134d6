import type { JSX } from 'preact'
import { findTableOwner } from '../../sdk/store/reserved-tables.ts'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { SelectField } from '../components/select-field.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { useCall } from '../hooks/use-call.ts'
import { query, setQuery } from '../state/router.ts'
import { namespace } from '../state/session.ts'
import { Records } from '../store/records.tsx'
import { listDatabases, listTables } from '../store/service.ts'
import '../style/store.css'

/** Store records by database and table. */
export default function Store(): JSX.Element {
  const database = query.value.get('database') || namespace.value
  const databases = useCall(listDatabases, [])
  const tables = useCall(
    async (signal) => ({ database, names: await listTables(database, signal) }),
    [database],
  )
  // Ignores tables of the previously selected database.
  const names = tables.value?.database === database ? tables.value.names : undefined
  const table = query.value.get('table') || findReadable(names ?? []) || ''
  // Only platform administrators can list databases.
  const databaseNames = databases.value ?? []

  return (
    <Page
      title="Store"
      about={`Tables of the database ${database}. Tables of built-in services cannot be read.`}
      actions={
        <>
          <SelectField
            label="Database"
            value={database}
            choices={withName(databaseNames, database)}
            onInput={(name) => {
              setQuery('table', '')
              setQuery('prefix', '')
              setQuery('database', name)
            }}
          />
          <SelectField
            label="Table"
            value={table}
            choices={withName(names ?? [], table)}
            onInput={(name) => {
              setQuery('prefix', '')
              setQuery('table', name)
            }}
          />
        </>
      }
    >
      {databases.error !== undefined && (
        <p class="muted">
          Other databases are available to administrators of the platform only (
          {databases.error.code} {databases.error.detail}).
        </p>
      )}
      {tables.error !== undefined && (
        <Problem
          error={tables.error}
          subject={`tables of database ${database}`}
          onRetry={tables.reload}
        />
      )}
      {names === undefined && tables.state === 'loading' && <Loading />}
      {table !== '' && <Records key={`${database} ${table}`} database={database} table={table} />}
      {table === '' && names !== undefined && (
        <Empty title={`No records in database ${database}`}>
          Write one with <code>mx store write -t helloworld user/1 Ann</code>.
        </Empty>
      )}
    </Page>
  )
}

/** Default table: the first table outside the built-in services. */
function findReadable(names: readonly string[]): string | undefined {
  return names.find((name) => findTableOwner(name) === undefined)
}

function withName(names: readonly string[], name: string): readonly string[] {
  return name === '' || names.includes(name) ? names : [name, ...names]
}
