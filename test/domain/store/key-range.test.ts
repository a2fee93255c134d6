import fc from 'fast-check'
import t from 'tap'
import { compareKeys } from '../../../domain/store/compare-keys.ts'
import { type KeyRange, skipTo, toKeyRange } from '../../../domain/store/key-range.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'

function isInRange(key: string, { from, to }: KeyRange): boolean {
  return (
    (from === undefined || compareKeys(key, from) >= 0) &&
    (to === undefined || compareKeys(key, to) < 0)
  )
}

t.test('a prefix range contains exactly the keys with the prefix', async () => {
  const units = fc.constantFrom('a', 'b', '\u0001', '\ud7ff', '\ue000', '\uffff', '\u{10ffff}')
  const text = fc.string({ unit: units, maxLength: 3 })
  fc.assert(
    fc.property(
      text,
      text,
      (prefix, key) => isInRange(key, toKeyRange({ prefix })) === key.startsWith(prefix),
    ),
    { numRuns: scaleRuns(20_000) },
  )
})

t.test('applies the narrower of a prefix and explicit bounds', (t) => {
  t.strictSame(toKeyRange({}), { from: undefined, to: undefined })
  t.strictSame(toKeyRange({ prefix: 'b', from: 'a', to: 'd' }), { from: 'b', to: 'c' })
  t.strictSame(toKeyRange({ prefix: 'b', from: 'b2', to: 'b5' }), { from: 'b2', to: 'b5' })
  t.strictSame(toKeyRange({ prefix: '\u{10ffff}' }), { from: '\u{10ffff}', to: undefined })
  t.strictSame(toKeyRange({ prefix: 'a\u{10ffff}' }), { from: 'a\u{10ffff}', to: 'b' })
  t.end()
})

t.test('continues a page after its last key in either direction', (t) => {
  t.strictSame(toKeyRange({ prefix: 'b', after: 'b3' }), { from: 'b3\0', to: 'c' })
  t.strictSame(toKeyRange({ prefix: 'b', after: 'b3', reverse: true }), { from: 'b', to: 'b3' })
  t.strictSame(toKeyRange({ prefix: 'b', after: 'a' }), { from: 'b', to: 'c' })
  t.strictSame(skipTo({ from: 'a', to: 'z' }, 'k', false), { from: 'k\0', to: 'z' })
  t.strictSame(skipTo({ from: 'a', to: 'z' }, 'k', true), { from: 'a', to: 'k' })
  t.end()
})
