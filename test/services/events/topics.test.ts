import t, { type Test } from 'tap'
import { createLmdbEvents } from '../../../adapters/events/lmdb.ts'
import { createMemoryEvents } from '../../../adapters/events/memory.ts'
import type { EventsAdapter } from '../../../core/contracts/events.ts'
import type { DeliveryMessage } from '../../../services/events/messages.ts'
import { startJetStream } from '../../fixtures/jetstream.ts'
import { openPlatformEvents } from '../../fixtures/platform-events.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.setTimeout(60_000)

const ADAPTERS: Record<string, (t: Test) => Promise<EventsAdapter | undefined>> = {
  memory: async () => createMemoryEvents(),
  lmdb: async (t) => createLmdbEvents({ folder: makeTempFolder(t, 'events') }),
  jetstream: async (t) => (await startJetStream(t))?.openEvents(),
}

for (const [name, create] of Object.entries(ADAPTERS))
  t.test(`Topics returns the groups of a topic with their lag (${name})`, async (t) => {
    const adapter = await create(t)
    if (adapter === undefined) return
    const { call, consume } = await openPlatformEvents(t, { adapter })
    for (let i = 0; i < 5; i++) await call('Stream.Publish', { topic: 'orders' })
    await call('Stream.Publish', { topic: 'quiet' })
    const manual = { topic: 'orders', auto_ack: false, ack_wait: 60e9 }
    const started = { ...manual, group: 'begun', sequence: 1, max_in_flight: 3 }
    const stream = await consume<DeliveryMessage>(started)
    const { value: first } = await stream.next()
    await stream.send({ id: (first as DeliveryMessage).id, success: true })
    await stream.next()
    await consume({ ...manual, group: 'ahead', sequence: 9 })
    const sendRequest = (request: object = {}) =>
      call<{ topics: object[] }>('Stream.Topics', { groups: true, ...request })
    const groups = [
      { group: 'ahead', acked: 8, pending: 0, lag: 0 },
      { group: 'begun', acked: 1, pending: 3, lag: 4 },
    ]
    const settled = ['"ahead"', '"acked":1,"pending":3']
    const result = await waitUntil(sendRequest, (reply) =>
      settled.every((part) => JSON.stringify(reply).includes(part)),
    )
    t.match(result, {
      topics: [
        { topic: 'orders', first: 1, last: 5, bytes: Number, groups },
        { topic: 'quiet', first: 1, last: 1, bytes: Number, groups: [] },
      ],
    })
    t.match(await sendRequest({ topic: 'quiet' }), { topics: [{ topic: 'quiet', groups: [] }] })
    t.notMatch(await call('Stream.Topics', {}), { topics: [{ groups: Array }] })
  })

t.test('Topics lists 40 topics with their groups', async (t) => {
  const { call } = await openPlatformEvents(t)
  const names = Array.from({ length: 40 }, (_, i) => `t${100 + i}`)
  await Promise.all(names.map((topic) => call('Stream.Publish', { topic })))
  const { topics } = await call<{ topics: { topic: string; groups: object[] }[] }>(
    'Stream.Topics',
    { groups: true },
  )
  t.strictSame(
    topics.map(({ topic, groups }) => [topic, groups]),
    names.map((name) => [name, []]),
  )
})

/** Repeats a query until its result matches. */
async function waitUntil<T>(
  sendRequest: () => Promise<T>,
  condition: (reply: T) => boolean,
): Promise<T> {
  for (;;) {
    const reply = await sendRequest()
    if (condition(reply)) return reply
  }
}
