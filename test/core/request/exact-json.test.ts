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

t.test('numbers are told from texts that look like them', (t) => {
  const text =
    '{"a\\"9007199254740993":"\\\\","b":[-9007199254740993 ,9007199254740993e0,{"c":1.5}]}'
  t.same(parseExactJson(text), {
    'a"9007199254740993': '\\',
    b: ['-9007199254740993', 9007199254740992, { c: 1.5 }],
  })
  t.end()
})

t.test('texts may be as long as messages', (t) => {
  for (const piece of ['x', '\\n']) {
    const text = `{"id":9007199254740993,"t":"${piece.repeat(12_000_000 / piece.length)}"}`
    const { id, t: long } = parseExactJson(text) as { id: string; t: string }
    t.equal(id, '9007199254740993')
    t.equal(long.length, 12_000_000 / piece.length)
  }
  t.end()
})

t.test('what is no JSON is refused with the place of the first fault', (t) => {
  t.throws(() => parseExactJson('{"a":}'), {
    name: 'SyntaxError',
    message: 'expected a value at position 5, got "}"',
  })
  t.end()
})
