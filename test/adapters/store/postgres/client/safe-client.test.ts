import { createServer } from 'node:net'
import t from 'tap'
import { createConnections } from '../../../../../adapters/store/postgres/client/connections.ts'
import { parsePostgresUrl } from '../../../../../adapters/store/postgres/client/url.ts'
import { listen } from '../../../../fixtures/listen.ts'

const PASSWORD = 'correct-horse-battery'
/** AuthenticationCleartextPassword (PostgreSQL documentation: message formats). */
const PASSWORD_REQUEST = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])

t.test('sends no cleartext password without TLS', async (t) => {
  let received = ''
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.write(PASSWORD_REQUEST))
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
    })
  })
  const port = await listen(t, server)
  const connections = createConnections({
    address: parsePostgresUrl(`postgres://mx:${PASSWORD}@127.0.0.1:${port}/mx`),
    maxConnections: 1,
    connectTimeoutMs: 2000,
    statementTimeoutMs: 2000,
    onWarning: () => {},
    prepare: async () => {},
  })
  t.teardown(() => connections.close())
  const rejection = { cause: { message: /^PostgreSQL requested a cleartext password/ } }
  await t.rejects(connections.runStatement({ name: 'one', text: 'SELECT 1' }, []), rejection)
  await t.rejects(connections.connect(), rejection)
  t.match(received, /user\0mx\0/)
  t.notMatch(received, PASSWORD)
})
