import fc from 'fast-check'
import t from 'tap'
import { createLineSplitter } from '../../../lib/io/split-lines.ts'

/** Returns the lines of a stream of these chunks. */
function split(pieces: readonly (Buffer | string)[], maxBytes = 1000): readonly string[] {
  const splitter = createLineSplitter(maxBytes)
  const lines = pieces.flatMap((piece) => splitter.push(Buffer.from(piece)))
  return [...lines, ...splitter.end()]
}

t.test('lines end with LF or CR LF; the last one may have no line ending', async (t) => {
  t.strictSame(split(['a\nb\r\n\n c\rd\n']), ['a', 'b', '', ' c\rd'])
  t.strictSame(split(['a\nb']), ['a', 'b'])
  t.strictSame(split([]), [])
  t.strictSame(split(['\n']), [''])
  t.strictSame(split(['a', 'b', '\r', '\n', 'c\n']), ['ab', 'c'])
})

t.test('a line over the limit is split between characters', async (t) => {
  t.strictSame(split(['abcdef\ngh\n'], 4), ['abcd', 'ef', 'gh'])
  t.strictSame(split(['abc', 'def'], 4), ['abcd', 'ef'])
  t.strictSame(split(['aéééé\n'], 4), ['aé', 'éé', 'é'])
  t.strictSame(split(['😀😀'], 6), ['😀', '😀'])
  t.strictSame(split(['abcd\r\n'], 4), ['abcd'])
})

t.test('invalid UTF-8 becomes U+FFFD', async (t) => {
  t.strictSame(split([Buffer.from([0x61, 0xff, 0x0a])]), ['a\ufffd'])
  const continued = split([Buffer.alloc(10, 0x80)], 4)
  t.equal(continued.join(''), '\ufffd'.repeat(10))
})

t.test('property: lines do not depend on chunk sizes', async (t) => {
  const text = fc.array(fc.stringMatching(/^[a-zé😀 ]{0,12}$/u), { maxLength: 20 })
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 7 }), (lines, size) => {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
      const pieces: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
      t.strictSame(split(pieces), lines)
      t.equal(split(pieces, 4).join(''), lines.join(''), 'split lines lose no characters')
    }),
  )
})
