import t from 'tap'
import { decodeBase64, encodeText } from '../../../core/api/text.ts'

t.test('bytes that are valid UTF-8 are encoded as text', (t) => {
  for (const text of ['', 'hello', 'caf\xe9 \u{1f600}', '\ufeffwith a mark', 'a\0b\r\n']) {
    t.same(encodeText(Buffer.from(text)), { text, encoding: undefined })
  }
  const view = new Uint8Array(Buffer.from('xhellox')).subarray(1, 6)
  t.equal(encodeText(view).text, 'hello', 'only the bytes of a view are encoded')
  t.end()
})

t.test('other bytes are encoded as Base64', (t) => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
  const { text, encoding } = encodeText(bytes)
  t.equal(encoding, 'base64')
  t.same([...decodeBase64(text)!], [...bytes])
  t.match(encodeText(Buffer.from([0xed, 0xa0, 0x80])), { encoding: 'base64' }, 'a lone surrogate')
  t.end()
})

t.test('Base64 is decoded with or without padding, any other text returns undefined', (t) => {
  for (const [text, expected] of [
    ['', ''],
    ['aGk=', 'hi'],
    ['aGk', 'hi'],
    ['aA==', 'h'],
    ['aGV5', 'hey'],
  ] as const) {
    t.equal(decodeBase64(text)?.toString(), expected, text)
  }
  for (const text of ['a', 'aGk==', 'aG k=', 'aGk=\n', 'aGl=', '-_-_', 'aGk=aGk=', 'é', '=']) {
    t.equal(decodeBase64(text), undefined, text)
  }
  t.end()
})
