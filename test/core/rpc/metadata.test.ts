import fc from 'fast-check'
import t from 'tap'
import { HeaderList } from '../../../core/http/headers.ts'
import {
  findMetadata,
  formatMetadata,
  isMetadata,
  isRepeated,
  parseMetadata,
} from '../../../core/rpc/metadata.ts'
import { readVectors } from '../../fixtures/rpc.ts'

t.test('metadata is formatted and parsed like HTTP headers', async (t) => {
  for (const { text, fields } of readVectors().metadata) {
    t.strictSame(parseMetadata(text), fields ?? undefined, JSON.stringify(text))
    t.equal(isMetadata(text), fields !== null)
  }
  t.equal(formatMetadata(['a', 'b', 'a', 'c', 'x', '']), 'a: b\r\na: c\r\nx: \r\n')
  t.equal(formatMetadata([]), '')
})

t.test('a header list and a metadata block have the same text', async (t) => {
  const list = new HeaderList(['X-Name', 'Jörg', 'content-type', 'application/json'])
  t.equal(formatMetadata(list.flat), list.format())
  t.strictSame(parseMetadata(list.format()), list.flat)
})

t.test('formatted random metadata is parsed back unchanged', async () => {
  const name = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9a-z]{1,20}$/)
  const value = fc.stringMatching(/^[\x21-\x7e\xa1-\xff]([\t\x20-\x7e\x80-\xff]*[\x21-\x7e])?$/)
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 20 }), (pairs) => {
      const fields = pairs.flat()
      const read = parseMetadata(formatMetadata(fields))
      if (JSON.stringify(read) !== JSON.stringify(fields)) throw new Error('differs')
    }),
  )
})

t.test('a name or value with line breaks or characters beyond one byte is rejected', async (t) => {
  const invalid: [string, string][] = [
    ['a', 'b\r\nmx-account: {}'],
    ['a', 'b\n'],
    ['a', 'b\0'],
    // Truncated to one byte each, these would be CR and LF.
    ['a', 'b\u010d\u010amx-account: {}'],
    ['a: b\r\nmx-account', 'c'],
    ['A', 'b'],
    ['', 'b'],
    ['ä', 'b'],
    ['a\u0161', 'b'],
  ]
  for (const fields of invalid) {
    t.throws(() => formatMetadata(fields), TypeError, JSON.stringify(fields))
  }
})

t.test('metadata over 64 KiB is rejected', async (t) => {
  const longest = 'v'.repeat(65536 - 'a: \r\n'.length)
  const text = formatMetadata(['a', longest])
  t.equal(text.length, 65536)
  t.strictSame(parseMetadata(text), ['a', longest])
  t.throws(() => formatMetadata(['a', `${longest}v`]), {
    message: 'metadata must be at most 65536 bytes, got 65537',
  })
  t.equal(parseMetadata(`a: ${longest}v\r\n`), undefined)
})

t.test('findMetadata returns the first value of a name without parsing the block', async (t) => {
  const text = 'a: 1\r\nab: 2\r\nx-b: 3\r\nb:4\r\nb: 5\r\nc: \t6 \r\n'
  t.equal(findMetadata(text, 'a'), '1')
  t.equal(findMetadata(text, 'ab'), '2')
  t.equal(findMetadata(text, 'b'), '4', 'the first value')
  t.equal(findMetadata(text, 'c'), '6')
  t.equal(findMetadata(text, 'd'), undefined)
  t.equal(findMetadata('', 'a'), undefined)
  const utf8 = Buffer.from('à').toString('latin1')
  t.equal(findMetadata(`a: ${utf8}\r\n`, 'a'), utf8, 'the last byte is not whitespace')
  t.strictSame(parseMetadata(`a: ${utf8}\r\n`), ['a', utf8])
  fc.assert(
    fc.property(fc.stringMatching(/^([ab]: ?[ab:]{0,3}\r\n){0,5}$/), (block) => {
      const fields = parseMetadata(block)!
      const index = fields.findIndex((field, i) => i % 2 === 0 && field === 'a')
      const expected = index < 0 ? undefined : fields[index + 1]
      if (findMetadata(block, 'a') !== expected) throw new Error('differs')
    }),
  )
})

t.test('isRepeated is true if a name occurs several times', async (t) => {
  for (const [text, repeated] of [
    ['a: 1\r\n', false],
    ['a: 1\r\nb: 2\r\n', false],
    ['x-a: 1\r\na: 2\r\na-x: 3\r\n', false],
    ['a: 1\r\na: 2\r\n', true],
    ['b: 1\r\na: 1\r\nb: 2\r\na: 1\r\n', true],
  ] as const)
    t.equal(isRepeated(text, 'a'), repeated, JSON.stringify(text))
})
