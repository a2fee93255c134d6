import { join } from 'node:path'
import t from 'tap'
import { createLmdbEvents } from '../../../adapters/events/lmdb.ts'
import { testEvents } from '../../contracts/events.ts'
import { testEventsModel } from '../../contracts/events-model.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

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

t.test('a folder that cannot be used is named', (t) => {
  t.throws(() => createLmdbEvents({ folder: '/dev/null/events' }), {
    message: /^the event store cannot be opened in \/dev\/null\/events: /,
  })
  t.end()
})
