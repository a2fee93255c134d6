import fc from 'fast-check'
import t from 'tap'
import { Buckets, DURATION_MS, SIZE_BYTES } from '../../../core/metrics/buckets.ts'

t.test('a value is counted in every bucket whose upper bound it does not exceed', async (t) => {
  const buckets = new Buckets([1, 10])
  for (const value of [0, 1, 1.1, 10, 11, 1e12, -5]) buckets.record(value)
  t.same(buckets.cumulative, [3, 5, 7])
  t.equal(buckets.count, 7)
  t.equal(buckets.sum, 0 + 1 + 1.1 + 10 + 11 + 1e12, 'a negative value counts as zero')
})

t.test('bucket counts of random values match the definition', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { maxLength: 100 }),
      fc.constantFrom(DURATION_MS, SIZE_BYTES),
      (values, bounds) => {
        const buckets = new Buckets(bounds)
        for (const value of values) buckets.record(value)
        const expected = [...bounds, Number.POSITIVE_INFINITY].map(
          (bound) => values.filter((value) => value <= bound).length,
        )
        return JSON.stringify(buckets.cumulative) === JSON.stringify(expected)
      },
    ),
  )
  t.pass('100 samples')
})
