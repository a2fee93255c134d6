import t from 'tap'
import { ConsumedEvents, MAX_EVENT_BYTES, MAX_EVENTS } from '../../../web/events/consumed-buffer.ts'
import type { EventMessage } from '../../../web/events/event.ts'

const event = (sequence: number, payload = ''): EventMessage => ({
  ...{ id: String(sequence), topic: 'orders', sequence, timestamp_ms: 0 },
  ...{ metadata: {}, payload },
})

t.test('retains the newest events and counts all of them', (t) => {
  const consumed = new ConsumedEvents()
  t.strictSame([consumed.all, consumed.count, consumed.last], [[], 0, undefined])
  for (let i = 1; i <= 3 * MAX_EVENTS + 1; i++) consumed.push(event(i))
  t.equal(consumed.count, 3 * MAX_EVENTS + 1)
  t.equal(consumed.last, 3 * MAX_EVENTS + 1)
  t.equal(consumed.all.length, MAX_EVENTS)
  t.equal(consumed.all[0]!.sequence, 2 * MAX_EVENTS + 2)
  t.equal(consumed.all.at(-1)!.sequence, 3 * MAX_EVENTS + 1)
  t.end()
})

t.test('retains fewer large events', (t) => {
  const consumed = new ConsumedEvents()
  const payload = 'A'.repeat(MAX_EVENT_BYTES / 4)
  for (let i = 1; i <= 10; i++) consumed.push(event(i, payload))
  t.strictSame(
    consumed.all.map(({ sequence }) => sequence),
    [7, 8, 9, 10],
  )
  t.equal(consumed.count, 10)
  t.end()
})

t.test('returns the same array until the next event', (t) => {
  const consumed = new ConsumedEvents()
  consumed.push(event(2))
  const before = consumed.all
  t.equal(consumed.all, before)
  consumed.push(event(1))
  t.not(consumed.all, before)
  t.equal(consumed.last, 2, 'a redelivered event does not count as the last one')
  t.end()
})
