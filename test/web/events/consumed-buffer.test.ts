import t from 'tap'
import { ConsumedEvents, MAX_EVENT_BYTES, MAX_EVENTS } from '../../../web/events/consumed-buffer.ts'
import type { EventMessage } from '../../../web/events/event.ts'

const event = (sequence: number, payload = ''): EventMessage => ({
  ...{ id: String(sequence), topic: 'orders', sequence, timestamp_ms: 0 },
  ...{ metadata: {}, payload },
})

t.test('the newest events stay, all are counted', (t) => {
  const taken = new ConsumedEvents()
  t.strictSame([taken.all, taken.count, taken.last], [[], 0, undefined])
  for (let i = 1; i <= 3 * MAX_EVENTS + 1; i++) taken.push(event(i))
  t.equal(taken.count, 3 * MAX_EVENTS + 1)
  t.equal(taken.last, 3 * MAX_EVENTS + 1)
  t.equal(taken.all.length, MAX_EVENTS)
  t.equal(taken.all[0]!.sequence, 2 * MAX_EVENTS + 2)
  t.equal(taken.all.at(-1)!.sequence, 3 * MAX_EVENTS + 1)
  t.end()
})

t.test('of large events fewer stay', (t) => {
  const taken = new ConsumedEvents()
  const payload = 'A'.repeat(MAX_EVENT_BYTES / 4)
  for (let i = 1; i <= 10; i++) taken.push(event(i, payload))
  t.strictSame(
    taken.all.map(({ sequence }) => sequence),
    [7, 8, 9, 10],
  )
  t.equal(taken.count, 10)
  t.end()
})

t.test('the list is another one only when there is another event', (t) => {
  const taken = new ConsumedEvents()
  taken.push(event(2))
  const before = taken.all
  t.equal(taken.all, before)
  taken.push(event(1))
  t.not(taken.all, before)
  t.equal(taken.last, 2, 'one that comes again is not the last')
  t.end()
})
