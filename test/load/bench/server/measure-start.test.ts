import { join } from 'node:path'
import t from 'tap'
import { compareGoals } from '../../../../bench/report/goals.ts'
import {
  measureServer,
  measureStart,
  READY_MS,
  toStartGoals,
} from '../../../../bench/server/measure-start.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

/**
 * The limit of one second applies to a machine that starts the gateway alone in 200 ms. A busy machine gets five times
 * as long.
 */
const TIMES_GATEWAY = 5
const TRIES = 5
t.setTimeout(TRIES * 30_000)

t.test('mx server is ready within a second and uses at most 150 MB', async (t) => {
  const folder = makeTempFolder(t, 'start')
  const events: string[] = []
  for (let i = 0; i < TRIES; i++) {
    const start = await measureServer([`--data_dir=${join(folder, String(i))}`])
    const gateway = await measureStart(['api'], '/')
    const maxMs = Math.max(READY_MS, Math.round(TIMES_GATEWAY * gateway.readyMs))
    const { lines, passed } = compareGoals(toStartGoals('mx server', start, maxMs))
    if (passed) return
    events.push(lines.join('; '))
  }
  t.fail(events.join('\n'))
})
