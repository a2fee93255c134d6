import t from 'tap'
import { toTopicNames } from '../../../../adapters/events/jetstream/names.ts'
import {
  ensureStream,
  ensureTopic,
  findStream,
  listTopics,
  retain,
} from '../../../../adapters/events/jetstream/topics.ts'
import { startJetStream } from '../../../fixtures/jetstream.ts'

const NAMES = toTopicNames('mx', { namespace: 'a.b', topic: 'c.d' })

t.test('creates a stream once under concurrency', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const [one, two] = [server.openSessions(), server.openSessions()]
  const sessions = await Promise.all([one.open(), two.open()])
  await Promise.all(sessions.map((session) => ensureTopic(session, NAMES, 1)))
  const { config } = (await findStream(sessions[0]!, NAMES.stream))!
  t.match(config, { storage: 'file', num_replicas: 1, max_bytes: -1, max_age: 0 })
  t.same(config.subjects, [NAMES.subject, NAMES.aheadSubject])
  // Reconfigured by another client: the new settings stay in effect.
  await sessions[0]!.streams.update(NAMES.stream, { max_age: 1e12 })
  const third = await server.openSessions().open()
  await ensureTopic(third, NAMES, 1)
  t.equal((await findStream(third, NAMES.stream))!.config.max_age, 1e12)
  t.equal(await findStream(third, 'none'), undefined)
  await t.rejects(
    ensureStream(third, { name: 'other', subjects: ['mx.events.>'], num_replicas: 1 }),
    { code: 10065 },
  )
})

t.test('lists a topic by its subject', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const session = await server.openSessions().open()
  await ensureTopic(session, NAMES, 1)
  t.match(await listTopics(session, 'mx'), [{ namespace: 'a.b', topic: 'c.d', first: 1, last: 0 }])
  await session.request({ subject: NAMES.aheadSubject, body: 'x' })
  t.match(await listTopics(session, 'mx'), [{ namespace: 'a.b', topic: 'c.d', first: 1, last: 1 }])
  t.same(await listTopics(session, 'other'), [])
})

t.test('does not reserve space for retention', async (t) => {
  const server = await startJetStream(t, { jetStream: true })
  if (server === undefined) return
  const session = await server.openSessions().open()
  for (let i = 0; i < 20; i++) {
    const names = toTopicNames('mx', { namespace: 'mx', topic: `t${i}` })
    await ensureTopic(session, names, 1)
    t.equal(await retain(session, names, { maxAgeMs: 1000, maxBytes: 2 ** 50 }, 0), false)
  }
  const { config } = (await findStream(session, 'mx+events+mx+t0'))!
  t.match(config, { max_age: 1e9, duplicate_window: 1e9, max_bytes: -1 })
})

t.test('keeps the newest event of any size', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const session = await server.openSessions().open()
  await ensureTopic(session, NAMES, 1)
  for (let i = 0; i < 10; i++)
    await session.request({ subject: NAMES.subject, body: 'x'.repeat(i === 9 ? 100_000 : 10) })
  const tinyLimit = { maxAgeMs: 0, maxBytes: 10 }
  while (await retain(session, NAMES, tinyLimit, 0));
  const { state } = (await findStream(session, NAMES.stream))!
  t.match(state, { messages: 1, first_seq: 10, last_seq: 10 })
})

t.test('removes excess events in parts', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const session = await server.openSessions().open()
  await ensureTopic(session, NAMES, 1)
  for (let i = 1; i < 12_000; i++) session.publish({ subject: NAMES.subject, body: 'x' })
  await session.request({ subject: NAMES.subject, body: 'x' })
  const tinyLimit = { maxAgeMs: 0, maxBytes: 1 }
  t.equal(await retain(session, NAMES, tinyLimit, 0), true)
  t.match((await findStream(session, NAMES.stream))!, {
    config: { max_msgs: -1 },
    state: { first_seq: 10_001, last_seq: 12_000 },
  })
  t.equal(await retain(session, NAMES, tinyLimit, 0), true)
  t.equal(await retain(session, NAMES, tinyLimit, 0), false)
  t.match((await findStream(session, NAMES.stream))!.state, { first_seq: 12_000, messages: 1 })
})

t.test('removes a temporary limit left by a killed server', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const session = await server.openSessions().open()
  await ensureTopic(session, NAMES, 1)
  await session.streams.update(NAMES.stream, { max_msgs: 1 })
  t.equal(await retain(session, NAMES, { maxAgeMs: 0, maxBytes: 0 }, 0), false)
  t.equal((await findStream(session, NAMES.stream))!.config.max_msgs, -1)
})
