import t from 'tap'
import { createRequestMux } from '../../../../adapters/events/jetstream/request-mux.ts'
import { startJetStream } from '../../../fixtures/jetstream.ts'
import { keepAlive } from '../../../fixtures/keep-alive.ts'

const PERMISSIONS = `authorization { users: [
  { user: "a", password: "b", permissions: { publish: { deny: ["denied.*"] }, subscribe: { deny: ["deaf.>"] } } }
] }`

t.test('resolves each request with its response', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const connection = await server.connect()
  const { request } = createRequestMux(connection, 'inbox', 5000)
  connection.subscribe('echo', {
    callback: (_, message) => void message.respond(message.data),
  })
  const texts = Array.from({ length: 1000 }, (_, i) => String(i))
  const responses = await Promise.all(texts.map((body) => request({ subject: 'echo', body })))
  t.same(
    responses.map((answer) => answer.string()),
    texts,
  )
})

t.test('rejects a request without a response on timeout', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const connection = await server.connect()
  const { request } = createRequestMux(connection, 'inbox', 100)
  connection.subscribe('silent', { callback() {} })
  keepAlive(t)
  await t.rejects(request({ subject: 'silent' }), {
    code: 503,
    cause: { message: 'NATS did not respond within 100 ms' },
  })
})

t.test('rejects denied requests only', async (t) => {
  const server = await startJetStream(t, { settings: [PERMISSIONS] })
  if (server === undefined) return
  const { connect } = await import('@nats-io/transport-node')
  const connection = await connect({ servers: server.url, user: 'a', pass: 'b', reconnect: false })
  t.teardown(() => connection.close())
  connection.subscribe('echo', { callback: (_, message) => void message.respond() })
  const { request } = createRequestMux(connection, 'inbox', 5000)
  const [denied, other, permitted] = [
    request({ subject: 'denied.a' }),
    request({ subject: 'denied.b' }),
    request({ subject: 'echo' }),
  ]
  await t.rejects(denied, { code: 403, message: /Publish to "denied.a"/ })
  await t.rejects(other, { code: 403, message: /Publish to "denied.b"/ })
  await t.resolves(permitted)
  const unanswered = createRequestMux(connection, 'deaf', 5000)
  await t.rejects(unanswered.request({ subject: 'echo' }), {
    code: 403,
    message: /Subscription to "deaf/,
  })
  await t.rejects(unanswered.request({ subject: 'echo' }), { code: 403 })
})

t.test('rejects requests after the end', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const connection = await server.connect()
  const { request, end } = createRequestMux(connection, 'inbox', 5000)
  connection.subscribe('silent', { callback() {} })
  const response = request({ subject: 'silent' })
  end(undefined)
  await t.rejects(response, { code: 503 })
  await t.rejects(request({ subject: 'silent' }), { code: 503 })
  const closed = createRequestMux(connection, 'other', 5000)
  await connection.close()
  await t.rejects(closed.request({ subject: 'silent' }), { code: 503 })
})
