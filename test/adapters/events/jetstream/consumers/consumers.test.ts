import t from 'tap'
import {
  addEphemeral,
  addGroup,
  findConsumer,
  parseRun,
  parseSince,
  removeEphemeral,
  setAckWait,
} from '../../../../../adapters/events/jetstream/consumers/consumers.ts'
import { fromSequence } from '../../../../../adapters/events/jetstream/consumers/start.ts'
import { startJetStream } from '../../../../fixtures/jetstream.ts'

const GROUP = { name: 'group', start: fromSequence(1), ackWaitMs: 5000, sinceMs: 1234 }

t.test('creates a group on one of two servers', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = await Promise.all([server.openSessions().open(), server.openSessions().open()])
  const [session] = sessions
  await session!.streams.add({ name: 's', subjects: ['s'] })
  const results = await Promise.allSettled(sessions.map((session) => addGroup(session, 's', GROUP)))
  // Both succeed if they picked the same of 3584 numbers.
  const created = results.filter((result) => result.status === 'fulfilled')
  const runs = new Set(created.map(({ value }) => parseRun(value)))
  t.equal(runs.size, 1)
  const actual = (await findConsumer(session!, 's', 'group'))!
  t.ok(runs.has(parseRun(actual)))
  t.equal(parseSince(actual), 1234)
})

t.test('keeps the identity of a group across server restarts', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions()
  const session = await sessions.open()
  await session.streams.add({ name: 's', subjects: ['s'] })
  const { sinceMs, ...withoutSince } = GROUP
  const created = await addGroup(session, 's', { ...withoutSince, sinceMs: undefined })
  t.equal(parseSince(created), undefined)
  await setAckWait(session, created, 7000)
  await server.kill()
  await server.start()
  const next = (await sessions.wait(30_000))!
  const actual = (await findConsumer(next, 's', 'group'))!
  t.equal(parseRun(actual), parseRun(created))
  t.equal(actual.config.ack_wait, 7000 * 1e6)
  t.match(actual.config, { durable_name: 'group', ack_policy: 'explicit', max_deliver: -1 })
})

t.test('deletes an ephemeral consumer on removal or when idle', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const session = await server.openSessions().open()
  await session.streams.add({ name: 's', subjects: ['s'] })
  const ephemeral = { start: fromSequence(1), ackWaitMs: undefined, idleMs: 60_000 }
  const info = await addEphemeral(session, 's', ephemeral)
  t.match(info.config, { mem_storage: true, ack_policy: 'none' })
  t.notOk('durable_name' in info.config)
  removeEphemeral(session, info)
  while ((await findConsumer(session, 's', info.name)) !== undefined);
  const idle = await addEphemeral(session, 's', { ...ephemeral, idleMs: 100 })
  while ((await findConsumer(session, 's', idle.name)) !== undefined)
    await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(await findConsumer(session, 'none', 'none'), undefined)
})
