import t from 'tap'
import { createLmdbEvents } from '../../../adapters/events/lmdb.ts'
import { testEvents } from '../../contracts/events.ts'
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
