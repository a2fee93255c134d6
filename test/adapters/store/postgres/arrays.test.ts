import pg from 'pg'
import t from 'tap'
import {
  toBigintArray,
  toBytesArray,
  toTextArray,
} from '../../../../adapters/store/postgres/arrays.ts'
import { startPostgres } from '../../../fixtures/postgres.ts'

t.test('round-trips arrays through PostgreSQL', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  const client = new pg.Client(server.url())
  await client.connect()
  t.teardown(() => client.end())
  const texts = ['', 'a', '{"b",\\c}', 'NULL', '\u0001\u00e9\u{1f600}', 'x'.repeat(100_000)]
  const values = [new Uint8Array(0), Uint8Array.from({ length: 256 }, (_, i) => i)]
  const part = Buffer.from('..part..').subarray(2, 6)
  const numbers = [0, 1, Number.MAX_SAFE_INTEGER, -1]
  const { rows } = await client.query(
    'SELECT $1::text[] AS texts, $2::bytea[] AS bytes, $3::bigint[] AS numbers',
    [toTextArray(texts), toBytesArray([...values, part]), toBigintArray(numbers)],
  )
  t.same(rows[0].texts, texts)
  t.same(
    rows[0].bytes.map((bytes: Buffer) => [...bytes]),
    [...values, part].map((bytes) => [...bytes]),
  )
  t.same(rows[0].numbers.map(Number), numbers)
  const empty = await client.query('SELECT cardinality($1::text[]) AS texts', [toTextArray([])])
  t.equal(empty.rows[0].texts, 0)
})
