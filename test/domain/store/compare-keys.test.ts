import fc from 'fast-check'
import t from 'tap'
import { compareKeys } from '../../../domain/store/compare-keys.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'

t.test('orders texts by their UTF-8 bytes', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 6 })
  fc.assert(
    fc.property(text, text, (a, b) => {
      const expected = Buffer.compare(Buffer.from(a), Buffer.from(b))
      return Math.sign(compareKeys(a, b)) === expected
    }),
    { numRuns: scaleRuns(20_000) },
  )
})

t.test('orders characters beyond U+FFFF last', (t) => {
  t.same(['\u{1f600}', '\uffff', '\ud7ff', '\ue000', '', 'a'].sort(compareKeys), [
    '',
    'a',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '\u{1f600}',
  ])
  t.end()
})
