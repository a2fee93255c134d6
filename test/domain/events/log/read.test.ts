import t from 'tap'
import type { StoredEvent } from '../../../../core/contracts/events.ts'
import { readSlice } from '../../../../domain/events/log/read.ts'

/** Events with these timestamps; the first ones may be removed. */
function makeReader(times: readonly number[], first = 1) {
  let reads = 0
  const last = times.length
  const highest = times.map((_, i) => Math.max(...times.slice(0, i + 1)))
  const make = (sequence: number): StoredEvent => ({
    id: '',
    sequence,
    timestampMs: times[sequence - 1]!,
    metadata: {},
    payload: Buffer.from('..'),
  })
  return {
    first,
    last,
    readMark: (sequence: number) => ({
      storedMs: 0,
      highestMs: highest[sequence - 1]!,
      startBytes: 0,
    }),
    *walk(from: number) {
      for (let sequence = from; sequence <= last; sequence++) {
        reads++
        yield make(sequence)
      }
    },
    get looked() {
      return reads
    },
  }
}

const ALL = { from: 1, limit: 1e6, maxBytes: 1e9 }

t.test('ends a slice at the end of readable events', (t) => {
  const reader = makeReader([1, 2, 3, 4, 5])
  const read = (range: object) => {
    const { events, end, next } = readSlice(reader, { ...ALL, ...range })
    return [events.map(({ sequence }) => sequence), end, next]
  }
  t.strictSame(read({}), [[1, 2, 3, 4, 5], 6, undefined])
  t.strictSame(read({ limit: 2 }), [[1, 2], 3, 3])
  t.strictSame(read({ from: 4, limit: 2 }), [[4, 5], 6, undefined])
  t.strictSame(read({ maxBytes: 3 }), [[1, 2], 3, 3])
  t.strictSame(read({ from: 9 }), [[], 9, undefined])
  t.end()
})

t.test('skips removed events', (t) => {
  const reader = makeReader([1, 2, 3, 4, 5], 4)
  const { events, end, next } = readSlice(reader, { ...ALL, limit: 1 })
  t.strictSame([events[0]!.sequence, end, next], [4, 5, 5])
  t.strictSame(readSlice(makeReader([1, 2], 3), ALL), { events: [], end: 3, next: undefined })
  t.end()
})

t.test('seeks by time', (t) => {
  const times = Array.from({ length: 5000 }, (_, i) => i)
  const reader = makeReader(times)
  const { events } = readSlice(reader, { ...ALL, sinceMs: 4990 })
  t.equal(events.length, 10)
  t.equal(reader.looked, 10)
  t.strictSame(readSlice(reader, { ...ALL, sinceMs: 9999 }), {
    events: [],
    end: 5001,
    next: undefined,
  })
  t.end()
})

t.test('limits the number of events scanned per slice', (t) => {
  const reader = makeReader([10_000, ...Array.from({ length: 3000 }, (_, i) => i)])
  const { events, end, next } = readSlice(reader, { ...ALL, sinceMs: 9000 })
  t.equal(events.length, 1)
  t.strictSame([end, next], [1001, 1001])
  const more = readSlice(reader, { ...ALL, from: 1001, sinceMs: 9000 })
  t.strictSame([more.events.length, more.next], [0, 2001])
  t.end()
})
