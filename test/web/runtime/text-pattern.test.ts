import t from 'tap'
import { createTextPattern } from '../../../web/runtime/text-pattern.ts'

t.test('a text is found in any letter case, as it is written', async (t) => {
  t.ok(createTextPattern('Error')!.isIn('an ERROR'))
  const wild = createTextPattern('a.*[b')!
  t.notOk(wild.isIn('axx[b'))
  t.ok(wild.isIn('say a.*[b'))
  for (const one of '\\^$.*+?()[]{}|/-#é😀') t.ok(createTextPattern(one)!.isIn(`x${one}`), one)
})

t.test('a line is split where it is: odd pieces are what was looked for', async (t) => {
  t.strictSame(createTextPattern('ab')!.split('xABxab'), ['x', 'AB', 'x', 'ab', ''])
  t.strictSame(createTextPattern('ab')!.split('none'), ['none'])
})

t.test('nothing is looked for by an empty text', async (t) => {
  t.equal(createTextPattern(''), undefined)
})
