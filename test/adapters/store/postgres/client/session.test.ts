import pg from 'pg'
import t from 'tap'
import { prepareSession } from '../../../../../adapters/store/postgres/client/session.ts'
import { startPostgres } from '../../../../fixtures/postgres.ts'

t.test('overrides settings of the role', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  for (const setting of [
    'synchronous_commit = off',
    'default_transaction_isolation = serializable',
    'default_transaction_read_only = on',
    'bytea_output = escape',
    'client_encoding = LATIN1',
  ])
    await server.query(`ALTER ROLE mx SET ${setting}`)
  const client = new pg.Client(server.url())
  await client.connect()
  t.teardown(() => client.end())
  const show = async (name: string): Promise<string> =>
    (await client.query(`SELECT current_setting('${name}') AS value`)).rows[0].value
  t.equal(await show('synchronous_commit'), 'off')
  await prepareSession(client)
  t.equal(await show('synchronous_commit'), 'on')
  t.equal(await show('transaction_isolation'), 'read committed')
  t.equal(await show('transaction_read_only'), 'off')
  t.equal(await show('bytea_output'), 'hex')
  t.equal(await show('client_encoding'), 'UTF8')
})

t.test('keeps a stricter synchronous_commit', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  await server.query('ALTER ROLE mx SET synchronous_commit = remote_apply')
  const client = new pg.Client(server.url())
  await client.connect()
  t.teardown(() => client.end())
  await prepareSession(client)
  const { rows } = await client.query('SHOW synchronous_commit')
  t.same(rows, [{ synchronous_commit: 'remote_apply' }])
})
