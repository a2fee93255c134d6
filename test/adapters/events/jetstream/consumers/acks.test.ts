import t, { type Test } from 'tap'
import {
  type AckedGroup,
  createAcks,
} from '../../../../../adapters/events/jetstream/consumers/acks.ts'
import { startJetStream } from '../../../../fixtures/jetstream.ts'

const GROUP: AckedGroup = { stream: 'mx+events+mx+orders', subject: 'mx.acks.mx.orders.group.1' }
const TOPIC = { namespace: 'mx', topic: 'orders' }
/** A closed port. */
const REPLY = '$JS.ACK.none.none.1.1.1.1.0'

async function open(t: Test) {
  const server = await startJetStream(t)
  if (server === undefined) return undefined
  const sessions = server.openSessions()
  const session = await sessions.open()
  const records = async () => {
    const { state } = await session.streams.info('mx+acks')
    return state.messages
  }
  return { server, sessions, session, records, acks: createAcks(sessions, 'mx', 1) }
}

t.test('loads stored acknowledgements on another server and after a kill', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { server, sessions, session, acks, records } = opened
  const before = await acks.follow(session, GROUP)
  t.same(before.done.ranges, [])
  await Promise.all([5, 1, 2, 3, 9].map((sequence) => acks.note(GROUP, sequence, REPLY)))
  t.equal(await records(), 1, 'acknowledgements of one tick in one record')
  await acks.note({ ...GROUP, subject: 'mx.acks.mx.orders.group.2' }, 4, REPLY)
  const expected = [
    [1, 3],
    [5, 5],
    [9, 9],
  ]
  t.same(before.done.ranges, expected, 'followers receive it')
  await before.stop()
  await server.kill()
  await server.start()
  const next = (await sessions.wait(30_000))!
  const { done, stop } = await createAcks(server.openSessions(), 'mx', 1).follow(next, GROUP)
  t.same(done.ranges, expected)
  await stop()
})

t.test('merges many records without loss', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { session, acks, records } = opened
  for (let n = 1; n <= 999; n++) await acks.note(GROUP, 2 * n, REPLY)
  await acks.note(GROUP, 1, REPLY)
  // The last acknowledgement triggers a merge in the background.
  while ((await records()) >= 1000);
  await acks.note(GROUP, 3, REPLY)
  const { done, stop } = await acks.follow(session, GROUP)
  await stop()
  t.ok((await records()) < 10)
  t.equal(done.floor, 4)
  t.equal(done.ranges.length, 1 + 997)
})

t.test('treats removed events as acknowledged', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { session, acks } = opened
  await session.streams.add({ name: GROUP.stream, subjects: ['s'] })
  for (let n = 0; n < 5; n++) await session.request({ subject: 's' })
  await session.streams.purge(GROUP.stream, { seq: 4 })
  const { done, stop } = await acks.follow(session, GROUP)
  await stop()
  t.same(done.ranges, [[1, 3]])
})

t.test('deletes the acknowledgements of all groups with a name', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { session, acks, records } = opened
  await acks.forget(session, TOPIC, 'group')
  for (const subject of [GROUP.subject, 'mx.acks.mx.orders.group.2', 'mx.acks.mx.orders.other.1'])
    await acks.note({ ...GROUP, subject }, 1, REPLY)
  await acks.forget(session, TOPIC, 'group')
  t.equal(await records(), 1)
})

t.test('reports acknowledgements that cannot be stored', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { server, session, acks } = opened
  const ended = new Promise<void>((resolve) => void session.onSettled(resolve))
  await server.kill()
  await ended
  await t.rejects(acks.note(GROUP, 1, REPLY), { code: 503 })
  await acks.drained()
})
