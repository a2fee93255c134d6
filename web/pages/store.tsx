import type { JSX } from 'preact'
import { findTableOwner } from '../../sdk/store/reserved-tables.ts'
import { Field } from '../components/field.tsx'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { useCall } from '../hooks/use-call.ts'
import { query, setQuery } from '../state/router.ts'
import { namespace } from '../state/session.ts'
import { Records } from '../store/records.tsx'
import { listDatabases, listTables } from '../store/service.ts'
import '../style/store.css'

/** Records of the store: databases, tables, keys and values. */
export default function Store(): JSX.Element {
  const database = query.value.get('database') || namespace.value
  const databases = useCall(listDatabases, [])
  const tables = useCall(
    async (signal) => ({ database, names: await listTables(database, signal) }),
    [database],
  )
  // Those of the database before count for nothing.
  const names = tables.value?.database === database ? tables.value.names : undefined
  const table = query.value.get('table') || findReadable(names ?? []) || ''
  // Nobody is told of databases but administrators of the platform: others have that of their namespace.
  const known = databases.value ?? []

  return (
    <Page
      title="Store"
      about={`Tables of the database ${database}. Those of built-in services are theirs alone.`}
      actions={
        <>
          <Choice
            label="Database"
            value={database}
            choices={withName(known, database)}
            onChoose={(name) => {
              setQuery('table', '')
              setQuery('prefix', '')
              setQuery('database', name)
            }}
          />
          <Choice
            label="Table"
            value={table}
            choices={withName(names ?? [], table)}
            onChoose={(name) => {
              setQuery('prefix', '')
              setQuery('table', name)
            }}
          />
        </>
      }
    >
      {databases.error !== undefined && (
        <p class="muted">
          Other databases are for administrators of the platform ({databases.error.code}{' '}
          {databases.error.detail}).
        </p>
      )}
      {tables.error !== undefined && (
        <Problem
          error={tables.error}
          asked={`the tables of the database ${database}`}
          onRetry={tables.reload}
        />
      )}
      {names === undefined && tables.state === 'loading' && <Loading />}
      {table !== '' && <Records key={`${database} ${table}`} database={database} table={table} />}
      {table === '' && names !== undefined && (
        <Empty title={`The database ${database} has no records of yours yet`}>
          Write one: <code>mx store write -t helloworld user/1 Ann</code>
        </Empty>
      )}
    </Page>
  )
}

/** None of a built-in service is shown before it is chosen. */
function findReadable(names: readonly string[]): string | undefined {
  return names.find((name) => findTableOwner(name) === undefined)
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly choices: readonly string[]
  readonly onChoose: (choice: string) => void
}

function Choice({ label, value, choices, onChoose }: ChoiceProps): JSX.Element {
  return (
    <Field label={label}>
      {(control) => (
        <select
          {...control}
          value={value}
          onChange={({ currentTarget }) => onChoose(currentTarget.value)}
        >
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

function withName(names: readonly string[], name: string): readonly string[] {
  return name === '' || names.includes(name) ? names : [name, ...names]
}
