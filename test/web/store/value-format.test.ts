import t from 'tap'
import {
  fits,
  formatValue,
  parseValue,
  toFormat,
  toPreview,
} from '../../../web/store/value-format.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

t.test('selects JSON, text or hex by content', async (t) => {
  t.equal(toFormat(bytes('{"a":1}')), 'json')
  t.equal(toFormat(bytes('hello\n')), 'text')
  t.equal(toFormat(Uint8Array.of(0xff, 0)), 'hex')
  t.equal(toFormat(bytes('a\0b')), 'hex', 'a textarea would drop NUL')
  t.equal(toFormat(bytes('a\r\nb')), 'hex', 'a textarea would change CR LF')
  t.equal(toFormat(new Uint8Array()), 'text')
  t.notOk(fits(bytes('hello'), 'json'))
  t.ok(fits(bytes('5'), 'text'))
})

t.test(
  'formats JSON with line breaks and stores it without whitespace, with exact numbers',
  async (t) => {
    const value = bytes('{"a":9007199254740993,"b":[]}')
    const text = formatValue(value, 'json')
    t.equal(text, '{\n  "a": 9007199254740993,\n  "b": []\n}')
    t.strictSame(parseValue(text, 'json'), value)
    t.throws(() => parseValue('{"a":', 'json'), /^invalid JSON: /)
  },
)

t.test('formats and parses hex', async (t) => {
  const value = Uint8Array.from({ length: 18 }, (_, i) => i)
  const text = '00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f\n10 11'
  t.equal(formatValue(value, 'hex'), text)
  t.strictSame(parseValue(text.toUpperCase(), 'hex'), value)
  t.throws(() => parseValue('0g', 'hex'), /digit "g"/)
  t.throws(() => parseValue('0 01', 'hex'), /got 3 digits/)
})

t.test('round-trips text including a byte order mark', async (t) => {
  for (const text of ['', 'Jörg 😀', '\ufeffa'])
    t.strictSame(parseValue(formatValue(bytes(text), 'text'), 'text'), bytes(text))
})

t.test('previews the beginning of a value on one line', async (t) => {
  t.equal(toPreview(bytes('a\n\tb'), 10), 'a b')
  t.equal(toPreview(bytes('é'.repeat(100)), 5), 'ééééé…')
  t.equal(toPreview(bytes('€'.repeat(100)), 5), '€€€€€…', 'cut within a character')
  t.equal(toPreview(Uint8Array.of(0xff, 1), 5), 'ff 01')
  t.match(toPreview(new Uint8Array(20).fill(0xff), 5), /^(ff ){16}…$/)
})

t.test('does not indent JSON with too many levels', async (t) => {
  const text = '['.repeat(20_000) + ']'.repeat(20_000)
  t.equal(toFormat(bytes(text)), 'json')
  t.equal(formatValue(bytes(text), 'json'), text)
})
