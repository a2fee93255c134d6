import t from 'tap'
import { parseMetadata, writeMetadata } from '../../../web/form/metadata.ts'

t.test('parses metadata as one name=value per line', (t) => {
  t.strictSame(parseMetadata('source=shop\r\n\n kind = a=b \nempty='), {
    source: 'shop',
    kind: 'a=b',
    empty: '',
  })
  t.strictSame(parseMetadata(''), {})
  t.strictSame(Object.entries(parseMetadata('__proto__=1')), [['__proto__', '1']])
  t.end()
})

t.test('parses metadata as a JSON object', (t) => {
  t.strictSame(parseMetadata(' {"a":"b\\nc"}'), { a: 'b\nc' })
  t.throws(() => parseMetadata('{"a":5}'), { message: 'a must be a string, got 5' })
  t.throws(() => parseMetadata('{"a"'), { message: /^invalid JSON: / })
  t.end()
})

t.test('an invalid line is rejected with its number', (t) => {
  t.throws(() => parseMetadata('a=b\nsource'), {
    message: 'line 2 must be name=value, got "source"',
  })
  t.throws(() => parseMetadata('=b'), { message: 'line 1 must be name=value, got "=b"' })
  t.throws(() => parseMetadata('a=1\na=2'), { message: 'line 2: duplicate name a' })
  t.end()
})

t.test('formatted metadata parses to the same metadata', (t) => {
  t.equal(writeMetadata({ source: 'shop', kind: 'a=b' }), 'source=shop\nkind=a=b')
  t.equal(writeMetadata({}), '')
  for (const metadata of [
    { a: 'b', c: '' },
    { a: 'b\nc' },
    { 'a=b': 'c' },
    { a: ' b' },
    { '': 'a' },
    { '{': 'a' },
    { a: 'b', '{': 'c' },
    { ' a': 'b' },
  ])
    t.strictSame(parseMetadata(writeMetadata(metadata)), metadata)
  t.end()
})
