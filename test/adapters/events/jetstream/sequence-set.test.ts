import fc from 'fast-check'
import t from 'tap'
import {
  createSequenceSet,
  formatRanges,
  parseRanges,
} from '../../../../adapters/events/jetstream/sequence-set.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

t.test('stores sequences in as few ranges as possible', async (t) => {
  const span = fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: -1, max: 9 }))
  fc.assert(
    fc.property(fc.array(span, { maxLength: 30 }), (spans) => {
      const set = createSequenceSet()
      const expected = new Set<number>()
      for (const [from, more] of spans) {
        set.add(from, from + more)
        for (let n = from; n <= from + more; n++) expected.add(n)
      }
      for (let n = 1; n <= 80; n++) if (set.has(n) !== expected.has(n)) return false
      let minimum = 0
      while (expected.has(minimum + 1)) minimum++
      const areSeparate = set.ranges.every(
        ([from, to], i) => from <= to && (i === 0 || set.ranges[i - 1]![1] + 1 < from),
      )
      return areSeparate && set.floor === minimum
    }),
    { numRuns: scaleRuns(1000) },
  )
  const set = createSequenceSet()
  for (const n of [3, 1, 2, 7]) set.add(n)
  t.same(set.ranges, [
    [1, 3],
    [7, 7],
  ])
  t.equal(set.floor, 3)
})

t.test('round-trips ranges and ignores other text', async (t) => {
  const ranges = [
    [1, 3],
    [7, 7],
  ] as const
  t.same(parseRanges(formatRanges(ranges)), ranges)
  for (const text of ['', '{}', '[1]', '[[1]]', '[["1", 2]]', '[[0, 1]]', '[[1, 2, 3]]', '[null]'])
    t.same(parseRanges(text), [], text)
})
