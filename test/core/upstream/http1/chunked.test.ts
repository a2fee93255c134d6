import fc from 'fast-check'
import t from 'tap'
import { ChunkedDecoder } from '../../../../core/upstream/http1/chunked.ts'

/** Decodes the pieces in order; the end is an offset in the last piece. */
function decode(...pieces: string[]): { body: string; result: number | string } {
  const decoder = new ChunkedDecoder()
  let body = ''
  let result: number | string = -1
  for (const piece of pieces) {
    const bytes = Buffer.from(piece, 'latin1')
    result = decoder.decode(bytes, 0, bytes.length, (chunk) => {
      body += Buffer.from(chunk).toString('latin1')
    })
    if (result !== -1) break
  }
  return { body, result }
}

t.test('a chunked body is decoded up to the end of its last line', async (t) => {
  t.strictSame(decode('2\r\nok\r\n3;a=b\r\nyes\r\n0\r\n\r\nNEXT'), { body: 'okyes', result: 24 })
  t.strictSame(decode('0\r\n\r\n'), { body: '', result: 5 })
  t.strictSame(decode('0\r\nX: 1\r\nY:\r\n\r\n'), { body: '', result: 15 }, 'trailers are dropped')
})

t.test('only the given range of the memory is read', async (t) => {
  const decoder = new ChunkedDecoder()
  const bytes = Buffer.from('garbage2\r\nok\r\n0\r\n\r\ngarbage')
  const chunks: string[] = []
  t.equal(
    decoder.decode(bytes, 7, 19, (chunk) => chunks.push(Buffer.from(chunk).toString())),
    19,
  )
  t.strictSame(chunks, ['ok'])
  const cut = new ChunkedDecoder()
  t.equal(
    cut.decode(Buffer.from('2\r\nok\r\n0\r\n\r\n'), 0, 5, () => {}),
    -1,
  )
})

t.test('the error names the malformed part of a chunked body', async (t) => {
  const cases: [string, string][] = [
    ['x\r\n', 'chunk size must be hexadecimal'],
    ['\r\n', 'chunk size must be hexadecimal'],
    ['-1\r\n', 'chunk size must be hexadecimal'],
    [`${'f'.repeat(14)}\r\n`, 'chunk size must be hexadecimal'],
    ['2\nok\r\n', 'line of a chunked body must end in CRLF'],
    ['2\r\nok!\r\n', 'chunk must end in CRLF'],
    ['2\r\nok\n', 'line of a chunked body must end in CRLF'],
    ['2\r\nok\rX', 'chunk must end in CRLF'],
    ['0\r\nno colon\r\n\r\n', 'trailer must be name: value'],
    [`0;${'a'.repeat(9000)}`, 'line of a chunked body is too long'],
    [`0\r\n${`A: ${'a'.repeat(8000)}\r\n`.repeat(5)}`, 'trailers are too long'],
  ]
  for (const [text, fault] of cases) {
    t.equal(decode(text).result, fault, JSON.stringify(text.slice(0, 20)))
    const actual = decode(...text).result
    t.equal(typeof actual, 'string', `${JSON.stringify(text.slice(0, 20))} byte by byte`)
  }
})

t.test('a random chunked body is decoded at any split', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }), { maxLength: 6 }),
      fc.array(fc.nat(300), { maxLength: 8 }),
      (chunks, at) => {
        const text = `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\nT: 1\r\n\r\n`
        const cutPoints = [...new Set(at.filter((cut) => cut > 0 && cut < text.length))].sort(
          (a, b) => a - b,
        )
        const pieces = [0, ...cutPoints].map((from, i) => text.slice(from, cutPoints[i]))
        const { body, result } = decode(...pieces)
        return body === chunks.join('') && result === pieces.at(-1)!.length
      },
    ),
  )
  t.pass()
})
