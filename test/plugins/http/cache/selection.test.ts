import t from 'tap'
import { HeaderList } from '../../../../core/http/headers.ts'
import { readVary, toSelectionValues } from '../../../../plugins/http/cache/selection.ts'

t.test('reads the names in Vary', (t) => {
  for (const [values, names] of [
    [[], []],
    [
      ['Accept, X-A', 'x-a'],
      ['accept', 'x-a'],
    ],
    [[' , '], []],
    [['*'], undefined],
    [['accept', ' *'], undefined],
  ] as const) {
    const headers = new HeaderList(values.flatMap((value) => ['vary', value]))
    t.strictSame(readVary(headers), names)
  }
  t.end()
})

t.test('equivalent headers have equal texts', (t) => {
  const select = (...fields: string[]) =>
    toSelectionValues(['accept-language', 'x-a'], new HeaderList(fields))
  t.equal(
    select('accept-language', 'DE ; q=0.5,en', 'x-a', '1', 'x-a', '2'),
    select('x-a', '1,2', 'accept-language', 'en, de;q=0.5'),
  )
  t.not(select('x-a', '1,2'), select('x-a', '2,1'), 'order matters in unknown headers')
  t.not(select('x-a', ''), select(), 'empty and missing')
  t.not(select('accept-language', 'en'), select('x-a', 'en'))
  t.end()
})
