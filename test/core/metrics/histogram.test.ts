import fc from 'fast-check'
import t from 'tap'
import { Histogram } from '../../../core/metrics/histogram.ts'

/** The definition without buckets: the smallest value that `percent` % of the values do not exceed. */
function exactPercentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(1, Math.ceil((percent / 100) * sorted.length - 1e-6)) - 1]!
}

t.test('an empty histogram returns 0 for percentile, mean and max', async (t) => {
  const histogram = new Histogram()
  t.equal(histogram.percentile(50), 0)
  t.equal(histogram.mean, 0)
  t.equal(histogram.max, 0)
})

t.test('durations below a millisecond are exact', async (t) => {
  const histogram = new Histogram()
  for (let value = 1; value <= 1000; value++) histogram.record(value)
  t.equal(histogram.percentile(50), 500)
  t.equal(histogram.percentile(99.9), 999)
  t.equal(histogram.percentile(100), 1000)
  t.equal(histogram.mean, 500.5)
})

t.test('a percentile is at most 0.2 % above the exact one and never below', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 2 ** 31 - 1 }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0, 1, 50, 90, 99, 99.9, 100),
      (values, percent) => {
        const histogram = new Histogram()
        for (const value of values) histogram.record(value)
        const exact = exactPercentile(values, percent)
        const received = histogram.percentile(percent)
        return (
          received >= exact && received <= exact * 1.002 && histogram.max === Math.max(...values)
        )
      },
    ),
  )
  t.pass('200 samples')
})

t.test('durations out of range count as the nearest value in range', async (t) => {
  const histogram = new Histogram()
  histogram.record(-5)
  t.equal(histogram.max, 0)
  histogram.record(Number.POSITIVE_INFINITY)
  t.equal(histogram.percentile(100), 2 ** 31 - 1)
  t.equal(histogram.count, 2)
})

t.test('reset removes all values', async (t) => {
  const histogram = new Histogram()
  histogram.record(12)
  histogram.reset()
  t.equal(histogram.count, 0)
  t.equal(histogram.percentile(99), 0)
})

t.test('record counts a duration several times', async (t) => {
  const histogram = new Histogram()
  histogram.record(10)
  histogram.record(20, 3)
  t.equal(histogram.count, 4)
  t.equal(histogram.mean, 17.5)
  t.equal(histogram.percentile(25), 10)
  t.equal(histogram.percentile(50), 20)
})

t.test('a histogram with 5 bits is within 4 % of the exact percentile', async (t) => {
  const histogram = new Histogram(5)
  for (let value = 1; value <= 100_000; value++) histogram.record(value)
  for (const percent of [1, 50, 99]) {
    const exact = percent * 1000
    const received = histogram.percentile(percent)
    t.ok(received >= exact && received <= exact * 1.04, `${percent} %: ${received}`)
  }
})

t.test('percentile(p, copy) covers the values recorded after the copy', async (t) => {
  const histogram = new Histogram(5)
  for (let i = 0; i < 100; i++) histogram.record(5000)
  const before = histogram.copy()
  t.equal(histogram.percentile(50, before), 0, 'no values yet')
  for (let i = 0; i < 10; i++) histogram.record(7)
  t.equal(histogram.percentile(99, before), 7)
  t.ok(histogram.percentile(50) >= 5000)
})
