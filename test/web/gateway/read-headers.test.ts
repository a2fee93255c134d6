import t from 'tap'
import { readHeaders } from '../../../web/gateway/read-headers.ts'

t.test('parses one header per line and skips empty lines', async (t) => {
  t.strictSame(readHeaders(''), {})
  t.strictSame(readHeaders('Host: example.com\n\n  X-Url:http://a:1/b \r\nEmpty:'), {
    host: 'example.com',
    'x-url': 'http://a:1/b',
    empty: '',
  })
})

t.test('combines the values of a repeated header', async (t) => {
  t.strictSame(readHeaders('Accept: a\naccept: b'), { accept: 'a, b' })
})

t.test('an invalid line is rejected with its number', async (t) => {
  for (const [text, line] of [
    ['a: b\nnothing', 'line 2 must be "Name: value", got "nothing"'],
    ['a b: c', 'line 1 must'],
    [': c', 'line 1 must'],
  ] as const)
    t.throws(() => readHeaders(text), { name: 'RangeError', message: new RegExp(`^${line}`) })
})
