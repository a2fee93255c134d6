import t from 'tap'
import { listGroups } from '../../../../../adapters/events/jetstream/consumers/groups.ts'
import { toTopicNames } from '../../../../../adapters/events/jetstream/names.ts'
import { JET_TOPIC, startJetStream, toAppends } from '../../../../fixtures/jetstream.ts'

const NAMES = toTopicNames('mx', JET_TOPIC)

t.test('lists the progress of groups', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  const session = await server.openSessions().open()
  t.same(await listGroups(session, NAMES), [])
  await events.append(toAppends('a', 'b', 'c'))
  for (const [name, start] of [
    ['end', {}],
    ['a.start', { sequence: 1 }],
    ['ahead', { sequence: 10 }],
  ] as const)
    await events.join(JET_TOPIC, { name, start, ackWaitMs: 60_000 })
  await events.join(JET_TOPIC, { name: undefined, start: {}, ackWaitMs: 60_000 })
  await session.streams.purge(NAMES.stream, { seq: 2 })
  t.same(await listGroups(session, NAMES), [
    { name: 'a.start', acked: 1, pending: 0 },
    { name: 'ahead', acked: 9, pending: 0 },
    { name: 'end', acked: 3, pending: 0 },
  ])
})
