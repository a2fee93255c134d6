import t from 'tap'
import { probeNats } from '../../../adapters/nats/probe.ts'
import { startNats } from '../../fixtures/nats.ts'
import { openRawBackend } from '../../fixtures/raw-backend.ts'

const neverAborted = new AbortController().signal

t.test('returns the address and INFO of a server', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const { ip, info } = await probeNats({ host: 'localhost', port: server.port }, 5000, neverAborted)
  t.equal(ip, '127.0.0.1')
  t.match(info, { headers: true, max_payload: 1024 * 1024 })
})

t.test('closes the connection without a valid response', async (t) => {
  const backend = await openRawBackend(t)
  const endpoint = { host: '127.0.0.1', port: backend.port }
  const replies: [string | undefined, RegExp][] = [
    [undefined, /no response within 50 ms/],
    ['SSH-2.0-OpenSSH\r\n', /not a NATS server/],
    ['INFO {"headers"\r\n', /not a NATS server/],
    ['INFO 5\r\n', /not a NATS server/],
    ['x'.repeat(1024 * 1024), /not a NATS server/],
  ]
  for (const [i, [reply, message]] of replies.entries()) {
    const probing = t.rejects(probeNats(endpoint, reply === undefined ? 50 : 5000, neverAborted), {
      message,
    })
    const connection = await backend.connection(i)
    if (reply !== undefined) connection.send(reply)
    await probing
    await connection.ended()
  }
  const probing = t.rejects(probeNats(endpoint, 5000, neverAborted), {
    message: /connection closed/,
  })
  const connection = await backend.connection(replies.length)
  connection.socket.end()
  await probing
})

t.test('accepts a split INFO', async (t) => {
  const backend = await openRawBackend(t)
  const probing = probeNats({ host: '127.0.0.1', port: backend.port }, 5000, neverAborted)
  const connection = await backend.connection()
  connection.send('INFO {"headers":')
  await new Promise(setImmediate)
  connection.send('true}\r\n')
  t.same(await probing, { ip: '127.0.0.1', info: { headers: true } })
})

t.test('ends on abort and on a refused connection', async (t) => {
  const backend = await openRawBackend(t)
  const endpoint = { host: '127.0.0.1', port: backend.port }
  const controller = new AbortController()
  const probing = probeNats(endpoint, 60_000, controller.signal)
  const connection = await backend.connection()
  controller.abort()
  await t.rejects(probing, { message: 'the connection is closed' })
  await connection.ended()
  await t.rejects(probeNats(endpoint, 60_000, controller.signal), {
    message: 'the connection is closed',
  })
  backend.close()
  await t.rejects(probeNats(endpoint, 5000, neverAborted), { message: 'connection refused' })
})
