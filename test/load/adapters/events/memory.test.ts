import t from 'tap'
import { createMemoryEvents } from '../../../../adapters/events/memory.ts'
import { testEvents } from '../../../contracts/events.ts'
import { testEventsModel } from '../../../contracts/events-model.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

testEvents(t, () => ({ adapter: createMemoryEvents() }))
testEventsModel(t, () => ({ adapter: createMemoryEvents() }), { numRuns: scaleRuns(500) })

t.test('rejects appends beyond the memory limit but still serves reads', async (t) => {
  const adapter = createMemoryEvents({ maxBytes: 10_000 })
  const topic = { namespace: 'mx', topic: 'a' }
  const event = { id: '', timestampMs: 1, metadata: {}, payload: new Uint8Array(4000) }
  t.same(
    await adapter.append([
      { topic, event },
      { topic, event },
    ]),
    [1, 2],
  )
  await t.rejects(async () => adapter.append([{ topic, event }]), { code: 507 })
  const { events } = await adapter.read(topic, { from: 1, limit: 9, maxBytes: 1e9 })
  t.equal(events.length, 2)
  await adapter.retain!(topic, { maxAgeMs: 0, maxBytes: 1 }, 1)
  t.same(await adapter.append([{ topic, event }]), [3], 'removed events free memory')
})
