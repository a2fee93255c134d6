import t from 'tap'
import { readSlice } from '../../../../adapters/events/jetstream/read.ts'
import { JET_TOPIC, makeEvent, startJetStream, toAppends } from '../../../fixtures/jetstream.ts'

const ALL = { from: 1, limit: 100_000, maxBytes: 1e9 }

t.test('reads a long range in slices and deletes its consumers', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  for (let i = 0; i < 25; i++) {
    const batch = Array.from({ length: 1000 }, (_, n) => ({
      topic: JET_TOPIC,
      event: makeEvent('x', { timestampMs: i * 1000 + n }),
    }))
    await events.append(batch)
  }
  const session = await server.openSessions().open()
  const read = (range: object) =>
    readSlice(session, 'mx', JET_TOPIC, { ...ALL, ...range }, Date.now())
  const sequences: number[] = []
  let slices = 0
  for (let from: number | undefined = 1; from !== undefined; slices++) {
    const slice = await read({ from })
    for (const { sequence } of slice.events) sequences.push(sequence)
    from = slice.next
  }
  t.same(
    sequences,
    Array.from({ length: 25_000 }, (_, i) => i + 1),
  )
  t.equal(slices, 3)
  const { events: none, next } = await read({ sinceMs: 24_999 })
  t.same([none, next], [[], 10_001], 'limit of events scanned per read')
  t.same((await read({ from: 24_990, limit: 3 })).next, 24_993)
  const consumers = async () => (await session.streams.info('mx+events+mx+orders')).state
  while ((await consumers()).consumer_count > 0);
  t.pass('no consumers are left')
})

t.test('returns nothing for a missing topic', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const session = await server.openSessions().open()
  for (const range of [ALL, { ...ALL, sinceMs: 5 }])
    t.same(await readSlice(session, 'mx', JET_TOPIC, range, Date.now()), {
      events: [],
      next: undefined,
    })
  t.same(await server.openEvents().listTopics(), [], 'the topic was not created')
})

t.test('skips events removed by retention', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  await server.openEvents().append(toAppends('a', 'b', 'c'))
  const session = await server.openSessions().open()
  await session.streams.purge('mx+events+mx+orders', { seq: 3 })
  const read = async () => (await readSlice(session, 'mx', JET_TOPIC, ALL, Date.now())).events
  t.match(await read(), [{ sequence: 3 }])
  await session.streams.purge('mx+events+mx+orders')
  t.same(await read(), [])
})
