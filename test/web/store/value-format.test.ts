import t from 'tap'
import {
  fits,
  formatValue,
  parseTypedValue,
  toFormat,
  toPreview,
} from '../../../web/store/value-format.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

t.test('a value is shown as what it is: JSON, text or bytes', async (t) => {
  t.equal(toFormat(bytes('{"a":1}')), 'json')
  t.equal(toFormat(bytes('hello\n')), 'text')
  t.equal(toFormat(Uint8Array.of(0xff, 0)), 'hex')
  t.equal(toFormat(bytes('a\0b')), 'hex', 'what a field would lose')
  t.equal(toFormat(bytes('a\r\nb')), 'hex', 'what a field would change')
  t.equal(toFormat(new Uint8Array()), 'text')
  t.notOk(fits(bytes('hello'), 'json'))
  t.ok(fits(bytes('5'), 'text'))
})

t.test('JSON is shown with lines, and written without, its numbers as they are', async (t) => {
  const value = bytes('{"a":9007199254740993,"b":[]}')
  const shown = formatValue(value, 'json')
  t.equal(shown, '{\n  "a": 9007199254740993,\n  "b": []\n}')
  t.strictSame(parseTypedValue(shown, 'json'), value)
  t.throws(() => parseTypedValue('{"a":', 'json'), /^this is no JSON: /)
})

t.test('bytes are shown and typed as pairs of digits', async (t) => {
  const value = Uint8Array.from({ length: 18 }, (_, i) => i)
  const shown = '00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f\n10 11'
  t.equal(formatValue(value, 'hex'), shown)
  t.strictSame(parseTypedValue(shown.toUpperCase(), 'hex'), value)
  t.throws(() => parseTypedValue('0g', 'hex'), /got "g"/)
  t.throws(() => parseTypedValue('0 01', 'hex'), /got 3 digits/)
})

t.test('a text is its bytes, with the mark of its order if it has one', async (t) => {
  for (const text of ['', 'Jörg 😀', '\ufeffa'])
    t.strictSame(parseTypedValue(formatValue(bytes(text), 'text'), 'text'), bytes(text))
})

t.test('a table has the beginning of a value, on one line', async (t) => {
  t.equal(toPreview(bytes('a\n\tb'), 10), 'a b')
  t.equal(toPreview(bytes('é'.repeat(100)), 5), 'ééééé…')
  t.equal(toPreview(bytes('€'.repeat(100)), 5), '€€€€€…', 'cut within a character')
  t.equal(toPreview(Uint8Array.of(0xff, 1), 5), 'ff 01')
  t.match(toPreview(new Uint8Array(20).fill(0xff), 5), /^(ff ){16}…$/)
})

t.test('JSON of very many levels is shown as it is written', async (t) => {
  const text = '['.repeat(20_000) + ']'.repeat(20_000)
  t.equal(toFormat(bytes(text)), 'json')
  t.equal(formatValue(bytes(text), 'json'), text)
})
