import t from 'tap'
import { createLogPosition } from '../../../sdk/runtime/log-cursor.ts'

const at = (timestamp: number) => ({ timestamp })

t.test('the first request reads the last lines', async (t) => {
  t.strictSame(createLogPosition({ count: 100, since: 0 }).toRequest(), { count: 100, since: 0 })
})

t.test('a lost stream resumes after its last line', async (t) => {
  const position = createLogPosition({ count: 100, since: 0 })
  position.toRequest()
  for (const ms of [1500, 2100, 2700, 2700]) t.ok(position.isNew(at(ms)))
  t.strictSame(position.toRequest(), { count: 0, since: 2 })
  const repeated = [2100, 2700, 2700, 2700, 2900].map((ms) => position.isNew(at(ms)))
  t.strictSame(repeated, [false, false, false, true, true])
  t.strictSame(position.toRequest(), { count: 0, since: 2 })
})

t.test('lines removed from the log do not hide new lines', async (t) => {
  const position = createLogPosition({ count: 100, since: 0 })
  position.toRequest()
  t.ok(position.isNew(at(2700)))
  position.toRequest()
  t.ok(position.isNew(at(2800)))
  t.ok(position.isNew(at(2750)), 'a late line of another instance')
})

t.test('a late line does not repeat other lines after a resume', async (t) => {
  const position = createLogPosition({ count: 100, since: 0 })
  position.toRequest()
  for (const ms of [1900, 2700, 2800, 2750, 1950]) t.ok(position.isNew(at(ms)))
  t.strictSame(position.toRequest(), { count: 0, since: 2 }, 'the position does not move back')
  const repeated = [2700, 2800, 2750, 2760, 2800].map((ms) => position.isNew(at(ms)))
  t.strictSame(repeated, [false, false, false, true, true])
})

t.test('older lines of the same second are skipped after a resume', async (t) => {
  const position = createLogPosition({ count: 2, since: 0 })
  position.toRequest()
  for (const ms of [2700, 2800]) t.ok(position.isNew(at(ms)))
  position.toRequest()
  const repeated = [2500, 2600, 2700, 2800, 2900].map((ms) => position.isNew(at(ms)))
  t.strictSame(repeated, [false, false, false, false, true])
})
