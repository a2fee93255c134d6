import t from 'tap'
import { createMemoryEvents } from '../../../adapters/events/memory.ts'
import { eventsFull, eventsUnavailable } from '../../../domain/events/errors.ts'
import { openPlatformEvents } from '../../fixtures/platform-events.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { createQuietLog, openRegistry } from '../../fixtures/sdk-services.ts'

t.test('the registry lists the endpoints of the events service', async (t) => {
  const registry = openRegistry(t)
  await openPlatformEvents(t, { registry })
  const [service] = await registry.getService('events')
  t.strictSame(
    service!.endpoints.map(({ name, metadata }) => `${name} ${metadata['stream'] ?? ''}`.trim()),
    [
      'Stream.Publish',
      'Stream.Consume true',
      'Stream.Topics',
      'Stream.Groups',
      'Stream.DeleteGroup',
      'Stream.DeleteTopic',
      'Store.Read',
      'Store.Write',
    ],
  )
})

t.test('errors of the adapter are returned with their id and code', async (t) => {
  const failing = { ...createMemoryEvents() }
  const { call, consume } = await openPlatformEvents(t, {
    adapter: {
      ...failing,
      append: () => {
        throw eventsFull(new Error('no room'))
      },
      join: () => {
        throw eventsUnavailable(new Error('not there'))
      },
    },
  })
  await t.rejects(call('Stream.Publish', { topic: 'a' }), { id: 'events', code: 507 })
  t.strictSame(await call('Store.Read', { topic: 'a' }), { events: [] }, 'reads still work')
  const stream = await consume({ topic: 'a' })
  await t.rejects(stream.next(), { id: 'events', code: 503 })
})

t.test('stopping the service ends consumers with 503', async (t) => {
  const { call, consume, close } = await openPlatformEvents(t)
  await call('Stream.Publish', { topic: 'a' })
  const stream = await consume({ topic: 'a', sequence: 1 })
  t.equal((await stream.next()).done, false)
  const next = t.rejects(stream.next(), { code: 503, message: 'the events service is stopping' })
  await close()
  await next
})

t.test('a failure in the background is logged as a warning', async (t) => {
  const { log, lines } = createQuietLog('events')
  const retain = () => {
    throw new Error('disk failure')
  }
  const adapter = { ...createMemoryEvents(), retain }
  const { call } = await openPlatformEvents(t, { adapter, log, events: { retainMs: 1 } })
  await call('Stream.Publish', { topic: 'a' })
  await waitUntil(() => lines.some((line) => line.includes('disk failure')))
  t.match(JSON.parse(lines.find((line) => line.includes('disk failure'))!), { level: 40 })
})
