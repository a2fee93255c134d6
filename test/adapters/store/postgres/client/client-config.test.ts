import t from 'tap'
import { toClientConfig } from '../../../../../adapters/store/postgres/client/client-config.ts'
import { parsePostgresUrl } from '../../../../../adapters/store/postgres/client/url.ts'

const TIMEOUTS = { connectTimeoutMs: 1000, statementTimeoutMs: 9000 }

t.test('sets every timeout, shorter at the server than at the client', async (t) => {
  const config = toClientConfig(parsePostgresUrl('postgres://u:p@127.0.0.1:5/d'), TIMEOUTS)
  t.match(config, { host: '127.0.0.1', port: 5, user: 'u', password: 'p', database: 'd' })
  t.match(config, { ssl: false, keepAlive: true, connectionTimeoutMillis: 1000 })
  t.equal(config.statement_timeout, 9000)
  t.ok(config.query_timeout! > 9000)
  t.equal(config.idle_in_transaction_session_timeout, 3000)
})

t.test('leaves missing credentials to the environment', async (t) => {
  const config = toClientConfig(parsePostgresUrl('postgres://db.internal/d'), TIMEOUTS)
  t.notOk('user' in config || 'password' in config)
  t.same(config.ssl, { rejectUnauthorized: true })
})
