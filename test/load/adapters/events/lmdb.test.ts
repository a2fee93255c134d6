import { join } from 'node:path'
import t from 'tap'
import { createLmdbEvents } from '../../../../adapters/events/lmdb.ts'
import { testEvents } from '../../../contracts/events.ts'
import { testEventsModel } from '../../../contracts/events-model.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

for (const sync of ['os', 'always'] as const)
  t.test(sync, async (t) => {
    testEvents(t, (t) => {
      const folder = makeTempFolder(t, 'events')
      return {
        adapter: createLmdbEvents({ folder, sync }),
        reopen: () => createLmdbEvents({ folder, sync }),
      }
    })
  })

t.test('model', async (t) => {
  const root = makeTempFolder(t, 'events')
  let count = 0
  testEventsModel(t, () => {
    const folder = join(root, String(count++))
    return { adapter: createLmdbEvents({ folder }), reopen: () => createLmdbEvents({ folder }) }
  })
})

t.test('does not age events if the clock is behind the saved time', async (t) => {
  const folder = makeTempFolder(t, 'events')
  const nowMs = 1_800_000_000_000
  const before = createLmdbEvents({ folder, nowMs: () => nowMs })
  await before.saveTime!(nowMs)
  await before.close!()
  const adapter = createLmdbEvents({ folder, nowMs: () => 0 })
  t.teardown(() => adapter.close!())
  t.equal(adapter.readTime!(), nowMs)
  const topic = { namespace: 'mx', topic: 'audit' }
  const event = { id: '1', timestampMs: 0, metadata: {}, payload: Buffer.from('1') }
  await adapter.append([{ topic, event }])
  await adapter.retain!(topic, { maxAgeMs: 60_000, maxBytes: 0 }, nowMs)
  t.match(await adapter.listTopics(), [{ first: 1, last: 1 }])
})

t.test('names an unusable folder', (t) => {
  t.throws(() => createLmdbEvents({ folder: '/dev/null/events' }), {
    message: /^the event store cannot be opened in \/dev\/null\/events: /,
  })
  t.end()
})
