import t from 'tap'
import { parseExactJson } from '../../../core/request/exact-json.ts'

t.test('integers beyond 2^53 are texts, everything else is what JSON says', (t) => {
  t.same(
    parseExactJson('{"id":9007199254740993,"n":[-9223372036854775808,1],"t":"9007199254740993"}'),
    {
      ...{ id: '9007199254740993', n: ['-9223372036854775808', 1], t: '9007199254740993' },
    },
  )
  t.equal(parseExactJson('1e30'), 1e30)
  t.end()
})

t.test('what is no JSON is refused with the place of the first fault', (t) => {
  t.throws(() => parseExactJson('{"a":}'), {
    name: 'SyntaxError',
    message: 'expected a value at position 5, got "}"',
  })
  t.end()
})
