import t from 'tap'
import { parseExactJson } from '../../../../core/request/json/exact-json.ts'

t.test('integers beyond 2^53 become strings, other values are parsed as by JSON.parse', (t) => {
  t.same(
    parseExactJson('{"id":9007199254740993,"n":[-9223372036854775808,1],"t":"9007199254740993"}'),
    {
      ...{ id: '9007199254740993', n: ['-9223372036854775808', 1], t: '9007199254740993' },
    },
  )
  t.end()
})

t.test('floating-point numbers become strings only if digits or range would be lost', (t) => {
  const retained =
    '[1e30,6.02214076e23,1.0,5.000000000000000000,-0,1e3,0.1000000000000000055,5e-324]'
  t.strictSame(parseExactJson(retained), JSON.parse(retained))
  for (const text of [
    ...['9007199254740993.0', '9.007199254740993e15', '90071992.54740993e8'],
    ...['1.00000000000000001', '9007199254740991.4', '1e400', '-1e400'],
  ])
    t.equal(parseExactJson(text), text)
  t.end()
})

t.test('digits within strings and names are not numbers', (t) => {
  const text =
    '{"a\\"9007199254740993":"\\\\","b":[-9007199254740993 ,9007199254740993e0,{"c":1.5}]}'
  t.same(parseExactJson(text), {
    'a"9007199254740993': '\\',
    b: ['-9007199254740993', '9007199254740993e0', { c: 1.5 }],
  })
  t.end()
})

t.test('strings of 12 MB are parsed', (t) => {
  for (const piece of ['x', '\\n']) {
    const text = `{"id":9007199254740993,"t":"${piece.repeat(12_000_000 / piece.length)}"}`
    const { id, t: long } = parseExactJson(text) as { id: string; t: string }
    t.equal(id, '9007199254740993')
    t.equal(long.length, 12_000_000 / piece.length)
  }
  t.end()
})

t.test('malformed JSON is a SyntaxError with the position of the first error', (t) => {
  t.throws(() => parseExactJson('{"a":}'), {
    name: 'SyntaxError',
    message: 'expected a value at position 5, got "}"',
  })
  t.end()
})
