import t from 'tap'
import { parseExactJson } from '../../../../core/request/json/exact-json.ts'

t.test('integers beyond 2^53 are texts, everything else is what JSON says', (t) => {
  t.same(
    parseExactJson('{"id":9007199254740993,"n":[-9223372036854775808,1],"t":"9007199254740993"}'),
    {
      ...{ id: '9007199254740993', n: ['-9223372036854775808', 1], t: '9007199254740993' },
    },
  )
  t.end()
})

t.test('floating-point numbers are texts only where their digits or their range are lost', (t) => {
  const kept = '[1e30,6.02214076e23,1.0,5.000000000000000000,-0,1e3,0.1000000000000000055,5e-324]'
  t.strictSame(parseExactJson(kept), JSON.parse(kept))
  for (const text of [
    ...['9007199254740993.0', '9.007199254740993e15', '90071992.54740993e8'],
    ...['1.00000000000000001', '9007199254740991.4', '1e400', '-1e400'],
  ])
    t.equal(parseExactJson(text), text)
  t.end()
})

t.test('numbers are told from texts that look like them', (t) => {
  const text =
    '{"a\\"9007199254740993":"\\\\","b":[-9007199254740993 ,9007199254740993e0,{"c":1.5}]}'
  t.same(parseExactJson(text), {
    'a"9007199254740993': '\\',
    b: ['-9007199254740993', '9007199254740993e0', { c: 1.5 }],
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
