import pg from 'pg'
import t from 'tap'
import { prepareSession } from '../../../../adapters/store/postgres/client/session.ts'
import { prepareSchema } from '../../../../adapters/store/postgres/schema.ts'
import { createStatements, type Statement } from '../../../../adapters/store/postgres/statements.ts'
import { startPostgres } from '../../../fixtures/postgres.ts'

const KEYS = `ARRAY['mx'], ARRAY['t1'], ARRAY['k1']`
const EMPTY_ARRAY = `ARRAY[]::text[]`

t.test('uses an index in every statement without statistics', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  const client = new pg.Client(server.url())
  await client.connect()
  t.teardown(() => client.end())
  await prepareSession(client)
  await prepareSchema(client, 'mx', () => {})
  await client.query(`INSERT INTO mx.records SELECT 'mx', 't' || i % 3, 'k' || i, '', '{}', i % 2, i
    FROM generate_series(1, 2000) AS i`)
  const { read, scan, listTables, listDatabaseTables, readVersions, findExpired, write } =
    createStatements('mx')
  const range = { limit: 10, maxBytes: 1000 }
  const statements: [Statement, string][] = [
    [read, `'mx', 't1', 'k1'`],
    [scan(range), `'mx', 't1', '', 10, 1000`],
    [scan({ ...range, reverse: true }), `'mx', 't1', '', 10, 1000`],
    [scan({ ...range, to: 'z' }), `'mx', 't1', '', 10, 'z', 1000`],
    [scan({ ...range, to: 'z', reverse: true }), `'mx', 't1', '', 10, 'z', 1000`],
    [scan({ ...range, keysOnly: true }), `'mx', 't1', '', 10`],
    [scan({ ...range, keysOnly: true, reverse: true }), `'mx', 't1', '', 10`],
    [scan({ ...range, to: 'z', keysOnly: true }), `'mx', 't1', '', 10, 'z'`],
    [scan({ ...range, to: 'z', keysOnly: true, reverse: true }), `'mx', 't1', '', 10, 'z'`],
    [listTables, `'mx', 't1', 10`],
    [listDatabaseTables, `'mx', 't1', 10`],
    [readVersions, KEYS],
    [findExpired, '5000, 10'],
  ]
  for (const [{ name, text }, values] of statements) {
    await client.query(`PREPARE "${name}" AS ${text}`)
    const input = values === '' ? '' : `(${values})`
    const { rows } = await client.query(`EXPLAIN EXECUTE "${name}"${input}`)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    t.match(plan, /Index (Only )?Scan/, name)
    t.notMatch(plan, /Seq Scan|Sort|Hash|Merge/, `${name}: ${plan}`)
  }
  const names = statements.map(([{ name }]) => name)
  t.equal(new Set(names).size, names.length, 'names are unique')

  await client.query('BEGIN')
  const before = await readStatistics(client)
  const call = write.text.replace(/\(.*\)/s, '')
  await client.query(`${call}(${KEYS}, ARRAY[1]::bigint[],
    ${KEYS}, ARRAY['']::bytea[], ARRAY['{}'], ARRAY[0]::bigint[], ARRAY[0]::bigint[],
    ARRAY['mx'], ARRAY['t2'], ARRAY['k2'], ${EMPTY_ARRAY}, 1)`)
  const after = await readStatistics(client)
  t.equal(after.scans, before.scans, 'no sequential scan')
  t.equal(after.changed, before.changed + 2)
})

t.test('lists tables without scanning their records', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  const client = new pg.Client(server.url())
  await client.connect()
  t.teardown(() => client.end())
  await prepareSession(client)
  await prepareSchema(client, 'mx', () => {})
  await client.query(`INSERT INTO mx.records SELECT 'db' || i % 2, 't' || i % 5, 'k' || i, '', '{}', 0, i
    FROM generate_series(1, 5000) AS i`)
  const { listTables, listDatabaseTables } = createStatements('mx')
  for (const [{ text }, values, tables] of [
    [listTables, ['', '', 100], 10],
    [listTables, ['', '', 3], 3],
    [listTables, ['db0', 't4', 100], 5],
    [listDatabaseTables, ['db1', '', 100], 5],
    [listDatabaseTables, ['db1', 't1', 2], 2],
  ] as const) {
    await client.query('BEGIN')
    const before = await readStatistics(client)
    const { rows } = await client.query(text, [...values])
    t.equal(rows.length, tables)
    const after = await readStatistics(client)
    t.equal(after.read - before.read, tables, 'one record was read per table')
    await client.query('ROLLBACK')
  }
})

type Statistics = Record<'scans' | 'read' | 'changed', number>

/** Access statistics of the records, read in one transaction because they are flushed between two. */
async function readStatistics(client: pg.Client): Promise<Statistics> {
  const { rows } = await client.query<Statistics>(
    `SELECT seq_scan::int AS scans, idx_tup_fetch::int AS read, (n_tup_upd + n_tup_del)::int AS changed
     FROM pg_stat_xact_user_tables WHERE relid = 'mx.records'::regclass`,
  )
  return rows[0]!
}
