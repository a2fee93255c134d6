import pg from 'pg'
import t, { type Test } from 'tap'
import { prepareSchema, toChannel } from '../../../../adapters/store/postgres/schema.ts'
import { type PostgresServer, startPostgres } from '../../../fixtures/postgres.ts'

t.test('the schema', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  const noWarning = (): void => {}

  t.test('is created once by concurrent gateways', async (t) => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(t, server)))
    await Promise.all(clients.map((client) => prepareSchema(client, 'many', noWarning)))
    t.same((await clients[0]!.query('SELECT version FROM many.schema_version')).rows, [
      { version: 2 },
    ])
    t.same((await clients[0]!.query('SELECT count(*)::int FROM many.records')).rows, [{ count: 0 }])
    await prepareSchema(clients[0]!, 'many', noWarning)
  })

  t.test('is created atomically', async (t) => {
    const client = await connect(t, server)
    await client.query('CREATE SCHEMA half; CREATE TABLE half.versions ()')
    await t.rejects(prepareSchema(client, 'half', noWarning), { code: '42P07' })
    t.same((await client.query(`SELECT to_regclass('half.records') AS found`)).rows, [
      { found: null },
    ])
    await client.query('DROP TABLE half.versions')
    await prepareSchema(client, 'half', noWarning)
  })

  t.test('can be created by an administrator for a restricted role', async (t) => {
    await server.query('CREATE ROLE guest LOGIN PASSWORD $$guest$$')
    const url = server.url().replace(/mx:[^@]*@/, 'guest:guest@')
    const client = await connect(t, server, url)
    await t.rejects(prepareSchema(client, 'granted', noWarning), {
      code: '42501',
      message: /permission denied for database mx/,
    })
    await server.query('CREATE SCHEMA granted AUTHORIZATION guest', 'mx')
    await prepareSchema(client, 'granted', noWarning)
    t.same((await client.query('SELECT version FROM granted.schema_version')).rows, [
      { version: 2 },
    ])
  })

  t.test('is upgraded from version 1 and counts its records', async (t) => {
    const client = await connect(t, server)
    await prepareSchema(client, 'older', noWarning)
    await client.query(`
      DROP TABLE older.usage;
      DROP FUNCTION older.count_usage CASCADE;
      DROP FUNCTION older.size_of; DROP FUNCTION older.kind_of;
      UPDATE older.schema_version SET version = 1;
    `)
    await client.query(`
      INSERT INTO older.records (database, "table", key, value, metadata, expires, version)
      VALUES ('tb', 'shop', 'k', '\\x010203', '{}', 0, 1), ('tb', 'auth', 'k', '\\x01', '{}', 0, 2)
    `)
    await prepareSchema(client, 'older', noWarning)
    const read = () =>
      client.query('SELECT kind, bytes::int FROM older.usage WHERE database = $1 ORDER BY kind', [
        'tb',
      ])
    const before = (await read()).rows
    t.match(before, [{ kind: 'reserved' }, { kind: 'store' }])
    t.equal(before[1].bytes - before[0].bytes, 2, 'two more bytes in the table shop')
    await client.query(`DELETE FROM older.records WHERE "table" = 'shop'`)
    t.match(
      (await read()).rows,
      [before[0], { kind: 'store', bytes: 0 }],
      'triggers continue to count',
    )
  })

  t.test('rejects the schema of a newer mx', async (t) => {
    const client = await connect(t, server)
    await prepareSchema(client, 'newer', noWarning)
    await client.query('UPDATE newer.schema_version SET version = 99')
    await t.rejects(prepareSchema(client, 'newer', noWarning), {
      message: 'the schema newer in PostgreSQL has version 99 of a newer mx; this one supports 2',
    })
  })

  t.test('rejects a database without UTF-8', async (t) => {
    await server.query(
      `CREATE DATABASE latin OWNER mx ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`,
    )
    const client = await connect(t, server, server.url('sslmode=disable', 'latin'))
    await t.rejects(prepareSchema(client, 'mx', noWarning), {
      message: /must have the encoding UTF8, got LATIN1; use CREATE DATABASE/,
    })
  })

  t.test('warns about disabled fsync', async (t) => {
    const warnings: string[] = []
    const client = await connect(t, server)
    await prepareSchema(client, 'many', (message) => warnings.push(message))
    t.same(warnings, [])
    await server.query('ALTER SYSTEM SET fsync = off')
    await server.query('SELECT pg_reload_conf()')
    while (warnings.length === 0)
      await prepareSchema(client, 'many', (message) => warnings.push(message))
    t.match(warnings, [/fsync = off/])
  })
})

t.test("keeps channel names within PostgreSQL's limit", async (t) => {
  t.ok(toChannel('x'.repeat(40)).length <= 63)
})

async function connect(t: Test, server: PostgresServer, url = server.url()): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  t.teardown(() => client.end())
  return client
}
