import fc from 'fast-check'
import t from 'tap'
import { createSortedKeys } from '../../../../adapters/store/memory/sorted-keys.ts'
import { compareKeys } from '../../../../domain/store/compare-keys.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

t.test('iterates over the remaining keys in both directions', async () => {
  const key = fc.string({ unit: 'binary', maxLength: 4 })
  const bound = fc.option(key, { nil: undefined })
  fc.assert(
    fc.property(
      fc.uniqueArray(key, { maxLength: 2000, size: 'max' }),
      fc.nat(),
      bound,
      bound,
      (keys, seed, from, to) => {
        const sorted = createSortedKeys()
        for (const key of keys) sorted.add(key)
        const isIncluded = (i: number) => (i * 7 + seed) % 3 > 0
        const retained = keys.filter((_, i) => isIncluded(i))
        for (const [i, key] of keys.entries()) if (!isIncluded(i)) sorted.delete(key)
        const expected = retained
          .filter((key) => from === undefined || compareKeys(key, from) >= 0)
          .filter((key) => to === undefined || compareKeys(key, to) < 0)
          .sort(compareKeys)
        const forward = [...sorted.walk(from, to, false)]
        const backward = [...sorted.walk(from, to, true)]
        return same(forward, expected) && same(backward, expected.reverse())
      },
    ),
    { numRuns: scaleRuns(100) },
  )
})

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, i) => key === b[i])
}
