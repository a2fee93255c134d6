import t from 'tap'
import { createAppend } from '../../../../adapters/events/jetstream/append.ts'
import { GatewayError } from '../../../../core/errors.ts'
import { JET_TOPIC, makeEvent, startJetStream, toAppends } from '../../../fixtures/jetstream.ts'

const OPTIONS = { prefix: 'mx', replicas: 1, nowMs: Date.now }

t.test('stores a repeated event once', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const append = createAppend({ ...OPTIONS, sessions: server.openSessions() })
  const batch = toAppends('a', 'b')
  t.same(await append(batch), [1, 2])
  t.same(await append([...batch, ...toAppends('c')]), [1, 2, 3])
})

t.test('rejects a large event without affecting the others', async (t) => {
  const server = await startJetStream(t, { settings: ['max_payload: 10000'] })
  if (server === undefined) return
  const append = createAppend({ ...OPTIONS, sessions: server.openSessions() })
  const [a, long, b] = await append(toAppends('a', 'x'.repeat(10_000), 'b'))
  t.same([a, b], [1, 2])
  t.match(long, { code: 400, message: /^payload must be at most/ })
  t.match(server.openEvents().maxEventBytes, Number.POSITIVE_INFINITY, 'the limit is unknown yet')
})

t.test('creates a removed stream again', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions()
  const append = createAppend({ ...OPTIONS, sessions })
  await append(toAppends('a', 'b'))
  await sessions.current!.streams.delete('mx+events+mx+orders')
  t.same(await append(toAppends('c', 'd')), [1, 2])
})

t.test('reports a failure for each event', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const other = { namespace: 'mx', topic: 'existing' }
  const sessions = server.openSessions()
  const session = await sessions.open()
  await session.streams.add({ name: 'existing', subjects: ['mx.events.mx.existing'] })
  const append = createAppend({ ...OPTIONS, sessions })
  const [rejected, stored] = await append([
    { topic: other, event: makeEvent('a') },
    { topic: JET_TOPIC, event: makeEvent('b') },
  ])
  t.match(rejected, { code: 500, message: /subjects overlap/ })
  t.equal(stored, 1)
})

t.test('repeats appends in flight after a kill of NATS and stores them once', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const append = createAppend({ ...OPTIONS, sessions: server.openSessions() })
  await append(toAppends('first'))
  const texts = Array.from({ length: 2000 }, (_, i) => String(i))
  const appending = append(toAppends(...texts))
  // The appended events are in flight now.
  await new Promise(setImmediate)
  await server.kill()
  await server.start()
  const outcomes = await appending
  t.same(
    outcomes,
    texts.map((_, i) => i + 2),
  )
})

t.test('fails every event without a server', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  await server.kill()
  const append = createAppend({ ...OPTIONS, sessions: server.openSessions() })
  const outcomes = await append(toAppends('a', 'b'))
  for (const outcome of outcomes) t.ok(outcome instanceof GatewayError && outcome.code === 503)
})
