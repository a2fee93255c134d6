import t from 'tap'
import type { NewEvent } from '../../../../core/contracts/events.ts'
import {
  findSequence,
  type LogEnd,
  type LogMark,
  NO_EVENTS,
  sizeOfContent,
  sizeOfEvent,
  toEnd,
  toMark,
  toRetention,
} from '../../../../domain/events/log/index.ts'

function makeEvent(timestampMs: number, bytes = 0): NewEvent {
  return { id: 'id', timestampMs, metadata: {}, payload: new Uint8Array(bytes) }
}

/** A log of events stored at these times. */
function makeLog(times: readonly number[], bytes = 100) {
  let end: LogEnd = NO_EVENTS
  const marks: LogMark[] = []
  for (const now of times) {
    const event = makeEvent(0, bytes)
    marks.push(toMark(end, event, now))
    end = toEnd(end, marks.at(-1)!, event)
  }
  return { end, readMark: (sequence: number) => marks[sequence - 1]! }
}

t.test('marks never decrease, for any clocks and timestamps', (t) => {
  const first = makeEvent(50, 10)
  const mark = toMark(NO_EVENTS, first, 1000)
  t.strictSame(mark, { storedMs: 1000, highestMs: 50, startBytes: 0 })
  const end = toEnd(NO_EVENTS, mark, first)
  t.strictSame(end, { last: 1, storedMs: 1000, highestMs: 50, bytes: sizeOfEvent(first) })
  t.strictSame(toMark(end, makeEvent(20), 900), {
    storedMs: 1000,
    highestMs: 50,
    startBytes: sizeOfEvent(first),
  })
  t.end()
})

t.test('counts payload and metadata in the size of an event', (t) => {
  const event = { ...makeEvent(1, 10), metadata: { ab: 'cde' } }
  t.equal(sizeOfContent(event), 15)
  t.ok(sizeOfEvent(event) > 15)
  t.end()
})

t.test('finds the first sequence that satisfies a condition', (t) => {
  for (let first = 1; first < 5; first++)
    for (let last = first - 1; last < 10; last++)
      for (let boundary = first; boundary <= last + 1; boundary++)
        t.equal(
          findSequence(first, last, (sequence) => sequence >= boundary),
          boundary,
        )
  t.end()
})

t.test('removes events by age', (t) => {
  const { end, readMark } = makeLog([10, 20, 30, 30, 40])
  const toRetained = (first: number, maxAgeMs: number, now: number) =>
    toRetention(first, end, readMark, { maxAgeMs, maxBytes: 0 }, now)
  t.strictSame(toRetained(1, 0, 1e9), { first: 1, more: false }, 'no limit')
  t.strictSame(toRetained(1, 100, 109), { first: 1, more: false })
  t.strictSame(toRetained(1, 100, 110), { first: 2, more: false })
  t.strictSame(toRetained(2, 100, 130), { first: 5, more: false })
  t.strictSame(toRetained(2, 100, 140), { first: 6, more: false }, 'including the last one')
  t.strictSame(toRetained(6, 100, 140), { first: 6, more: false }, 'the log is empty')
  t.end()
})

t.test('removes events by size, except the newest one', (t) => {
  const { end, readMark } = makeLog([1, 1, 1, 1])
  const size = end.bytes / 4
  const toRetained = (maxBytes: number) =>
    toRetention(1, end, readMark, { maxAgeMs: 0, maxBytes }, 1).first
  t.equal(toRetained(0), 1, 'no limit')
  t.equal(toRetained(size * 4), 1)
  t.equal(toRetained(size * 4 - 1), 2)
  t.equal(toRetained(size * 2), 3)
  t.equal(toRetained(1), 4)
  t.end()
})

t.test('limits the number of events removed in one step', (t) => {
  const { end, readMark } = makeLog(Array.from({ length: 2500 }, () => 1))
  const retention = { maxAgeMs: 0, maxBytes: 1 }
  t.strictSame(toRetention(1, end, readMark, retention, 1), { first: 1001, more: true })
  t.strictSame(toRetention(1001, end, readMark, retention, 1), { first: 2001, more: true })
  t.strictSame(toRetention(2001, end, readMark, retention, 1), { first: 2500, more: false })
  t.end()
})
