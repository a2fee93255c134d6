import fc from 'fast-check'
import t from 'tap'
import { ByteBuffer } from '../../../lib/io/byte-buffer.ts'

t.test('appended bytes are returned complete, or line by line without line feeds', async (t) => {
  const buffer = new ByteBuffer()
  buffer.append(Buffer.from('ab'))
  t.equal(buffer.takeLine(), undefined)
  buffer.append(Buffer.from('c\n\nde'))
  t.equal(buffer.length, 7)
  t.equal(buffer.bytes.toString(), 'abc\n\nde')
  t.equal(buffer.takeLine()?.toString(), 'abc')
  t.equal(buffer.takeLine()?.toString(), '')
  t.equal(buffer.takeLine(), undefined)
  t.equal(buffer.bytes.toString(), 'de')
  buffer.clear()
  t.equal(buffer.length, 0)
  buffer.append(Buffer.from('f\n'))
  t.equal(buffer.takeLine()?.toString(), 'f')
  t.equal(buffer.takeLine(), undefined)
})

t.test('lines do not depend on the sizes of the appended chunks', async () => {
  const text = fc.array(fc.constantFrom('a', '\n', 'bc', '\r\n'), { maxLength: 200 })
  fc.assert(
    fc.property(text, fc.array(fc.integer({ min: 1, max: 9 })), (words, sizes) => {
      const bytes = Buffer.from(words.join(''))
      const buffer = new ByteBuffer()
      const lines: string[] = []
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = sizes[i % sizes.length] ?? 1
        buffer.append(bytes.subarray(at, at + size))
        at += size
        // Sometimes several lines are pending.
        if (i % 3 === 0) continue
        for (let line = buffer.takeLine(); line !== undefined; line = buffer.takeLine()) {
          lines.push(line.toString())
        }
      }
      for (let line = buffer.takeLine(); line !== undefined; line = buffer.takeLine()) {
        lines.push(line.toString())
      }
      lines.push(buffer.bytes.toString())
      return JSON.stringify(lines) === JSON.stringify(bytes.toString().split('\n'))
    }),
  )
})

t.test('four million appended bytes use less than 32 MiB', async (t) => {
  const buffer = new ByteBuffer()
  const byte = Buffer.from('x')
  const before = process.memoryUsage().arrayBuffers
  for (let i = 0; i < 4 * 1024 * 1024; i++) buffer.append(byte)
  t.equal(buffer.length, 4 * 1024 * 1024)
  t.ok(process.memoryUsage().arrayBuffers - before < 32 * 1024 * 1024)
  buffer.append(Buffer.from('\n'))
  t.equal(buffer.takeLine()?.length, 4 * 1024 * 1024)
})
