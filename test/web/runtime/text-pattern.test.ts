import t from 'tap'
import { createTextPattern } from '../../../web/runtime/text-pattern.ts'

t.test('matches literally in any letter case', async (t) => {
  t.ok(createTextPattern('Error')!.isIn('an ERROR'))
  const pattern = createTextPattern('a.*[b')!
  t.notOk(pattern.isIn('axx[b'))
  t.ok(pattern.isIn('say a.*[b'))
  for (const one of '\\^$.*+?()[]{}|/-#é😀') t.ok(createTextPattern(one)!.isIn(`x${one}`), one)
})

t.test('splits a line at the matches', async (t) => {
  t.strictSame(createTextPattern('ab')!.split('xABxab'), ['x', 'AB', 'x', 'ab', ''])
  t.strictSame(createTextPattern('ab')!.split('none'), ['none'])
})

t.test('returns no pattern for an empty text', async (t) => {
  t.equal(createTextPattern(''), undefined)
})
