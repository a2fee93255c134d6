import t from 'tap'
import { createLogPosition } from '../../../sdk/runtime/log-cursor.ts'

const at = (timestamp: number) => ({ timestamp })

t.test('a log is read from its last lines on', async (t) => {
  t.strictSame(createLogPosition({ count: 100, since: 0 }).toRequest(), { count: 100, since: 0 })
})

t.test('a stream that was lost goes on behind the line it ended with', async (t) => {
  const position = createLogPosition({ count: 100, since: 0 })
  position.toRequest()
  for (const ms of [1500, 2100, 2700, 2700]) t.ok(position.isNew(at(ms)))
  t.strictSame(position.toRequest(), { count: 0, since: 2 })
  const again = [2100, 2700, 2700, 2700, 2900].map((ms) => position.isNew(at(ms)))
  t.strictSame(again, [false, false, false, true, true])
  t.strictSame(position.toRequest(), { count: 0, since: 2 })
})

t.test('lines that went meanwhile do not hide those that came', async (t) => {
  const position = createLogPosition({ count: 100, since: 0 })
  position.toRequest()
  t.ok(position.isNew(at(2700)))
  position.toRequest()
  t.ok(position.isNew(at(2800)))
  t.ok(position.isNew(at(2750)), 'of another copy, a little late')
})

t.test('a line that comes late does not bring others again', async (t) => {
  const position = createLogPosition({ count: 100, since: 0 })
  position.toRequest()
  for (const ms of [1900, 2700, 2800, 2750, 1950]) t.ok(position.isNew(at(ms)))
  t.strictSame(position.toRequest(), { count: 0, since: 2 }, 'it does not lead back')
  const again = [2700, 2800, 2750, 2760, 2800].map((ms) => position.isNew(at(ms)))
  t.strictSame(again, [false, false, false, true, true])
})

t.test('lines of the same second, before those it began with, stay out', async (t) => {
  const position = createLogPosition({ count: 2, since: 0 })
  position.toRequest()
  for (const ms of [2700, 2800]) t.ok(position.isNew(at(ms)))
  position.toRequest()
  const again = [2500, 2600, 2700, 2800, 2900].map((ms) => position.isNew(at(ms)))
  t.strictSame(again, [false, false, false, false, true])
})
