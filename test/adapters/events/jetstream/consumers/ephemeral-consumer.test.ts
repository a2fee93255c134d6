import t from 'tap'
import type { EventMember } from '../../../../../core/contracts/events.ts'
import { JET_TOPIC, startJetStream, toAppends } from '../../../../fixtures/jetstream.ts'

async function pullTo(member: EventMember, last: number) {
  const sequences: number[] = []
  while (sequences.at(-1) !== last)
    for (const delivery of await member.pull(100, 1e6)) {
      sequences.push(delivery.event.sequence)
      await delivery.ack()
    }
  return sequences
}

t.test('resumes after a kill without gaps and without acknowledgements', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  const member = await events.join(JET_TOPIC, { name: undefined, start: {}, ackWaitMs: undefined })
  await events.append(toAppends('a', 'b'))
  t.same(await pullTo(member, 2), [1, 2])
  const pulling = pullTo(member, 4)
  await server.kill()
  await server.start()
  const other = server.openEvents()
  await other.append(toAppends('c', 'd'))
  t.same(await pulling, [3, 4])
})

t.test('does not redeliver acknowledged events after a kill', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  await events.append(toAppends('a', 'b', 'c'))
  const start = { sequence: 1 }
  const member = await events.join(JET_TOPIC, { name: undefined, start, ackWaitMs: 60_000 })
  const [a, , c] = await member.pull(3, 1e6)
  await a!.ack()
  await c!.ack()
  await server.kill()
  await server.start()
  t.same(await pullTo(member, 2), [2], 'the remaining events are redelivered')
})

t.test('replaces a consumer that the server deleted', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  await events.append(toAppends('a', 'b', 'c'))
  const session = await server.openSessions().open()
  for (const ackWaitMs of [undefined, 60_000]) {
    const start = { sequence: 1 }
    const member = await events.join(JET_TOPIC, { name: undefined, start, ackWaitMs })
    const [a] = await member.pull(1, 1e6)
    await a!.ack()
    t.same(await pullTo(member, 3), [2, 3])
    const pulling = pullTo(member, 4)
    const stream = 'mx+events+mx+orders'
    const waits = async () => {
      for await (const { num_waiting } of session.consumers.list(stream))
        if (num_waiting > 0) return true
      return false
    }
    while (!(await waits()));
    for await (const { name } of session.consumers.list(stream))
      await session.consumers.delete(stream, name)
    await events.append(toAppends('d'))
    t.same(await pulling, [4])
    await member.leave()
    await session.streams.purge(stream)
    await session.streams.delete(stream)
    await events.append(toAppends('a', 'b', 'c'))
  }
})
