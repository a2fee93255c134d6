import t from 'tap'
import type { EventMember } from '../../../../../core/contracts/events.ts'
import { JET_TOPIC, startJetStream, toAppends } from '../../../../fixtures/jetstream.ts'

const GROUP = { name: 'group', start: { sequence: 1 }, ackWaitMs: 60_000 }

async function pullAll(member: EventMember, count: number) {
  const sequences: number[] = []
  while (sequences.length < count)
    for (const { event } of await member.pull(100, 1e6)) sequences.push(event.sequence)
  return sequences
}

t.test('rejects a consumer that is not an event group', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  await events.append(toAppends('a'))
  const session = await server.openSessions().open()
  await session.consumers.add('mx+events+mx+orders', { durable_name: 'group', ack_policy: 'none' })
  const joining = async () => events.join(JET_TOPIC, { ...GROUP, ackWaitMs: 30_000 })
  await t.rejects(joining, { code: 409, message: /is not an event group/ })
})

t.test('shares a group that servers create concurrently, even after a kill', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const adapters = [server.openEvents(), server.openEvents(), server.openEvents()]
  const members = await Promise.all(adapters.map((events) => events.join(JET_TOPIC, GROUP)))
  await adapters[0]!.append(toAppends('a', 'b', 'c'))
  for (const member of members) {
    const [delivery] = await member.pull(1, 1e6)
    await delivery!.ack()
  }
  await server.kill()
  await server.start()
  const last = server.openEvents()
  await last.append(toAppends('d'))
  const member = await last.join(JET_TOPIC, GROUP)
  t.same(await pullAll(member, 1), [4], 'acknowledgements of all servers count')
})

t.test('treats a group as deleted when its consumer was removed', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  const member = await events.join(JET_TOPIC, GROUP)
  const rejected = t.rejects(member.pull(1, 1e6), { code: 410 })
  const session = await server.openSessions().open()
  // Wait until the pull has reached the server.
  while ((await session.consumers.info('mx+events+mx+orders', 'group')).num_waiting === 0);
  await session.consumers.delete('mx+events+mx+orders', 'group')
  await rejected
})

t.test('starts a recreated group without acknowledgements', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  await events.append(toAppends('a', 'b'))
  const member = await events.join(JET_TOPIC, GROUP)
  const deliveries = await member.pull(2, 1e6)
  await deliveries[0]!.ack()
  await events.deleteGroup!(JET_TOPIC, 'group')
  // This acknowledgement is late and belongs to the deleted group.
  await deliveries[1]!.ack()
  const repeated = await events.join(JET_TOPIC, GROUP)
  t.same(await pullAll(repeated, 2), [1, 2])
})

t.test('redelivers in order when a member leaves during a pull', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  await events.append(toAppends('a', 'b', 'c'))
  const member = await events.join(JET_TOPIC, GROUP)
  t.equal((await member.pull(3, 1e6)).length, 3)
  const pending = member.pull(1, 1e6)
  const { consumers } = await server.openSessions().open()
  while ((await consumers.info('mx+events+mx+orders', 'group')).num_waiting === 0);
  await member.leave()
  t.same(await pending, [])
  const other = await events.join(JET_TOPIC, GROUP)
  t.same(
    (await other.pull(3, 1e6)).map(({ event, attempt }) => [event.sequence, attempt]),
    [
      [1, 2],
      [2, 2],
      [3, 2],
    ],
  )
})
