import t from 'tap'
import { createTerminalEscaper, guardTerminal } from '../../../cli/ui/terminal.ts'

t.test('colors pass, and are reset at the end of a line and of a chunk', (t) => {
  const escapeChunk = createTerminalEscaper()
  t.equal(escapeChunk('\x1b[31mred\nplain\r\n'), '\x1b[31mred\x1b[0m\nplain\r\n')
  t.equal(escapeChunk('\x1b[38;2;1;2;3mx\x1b[0my\n'), '\x1b[38;2;1;2;3mx\x1b[0my\n')
  t.equal(escapeChunk('\x1b[1mbold'), '\x1b[1mbold\x1b[0m')
  t.equal(escapeChunk(`\x1b[${'1'.repeat(40)}m`), `\\u001b[${'1'.repeat(40)}m`)
  t.end()
})

t.test('control sequences are escaped for any split into chunks', (t) => {
  const text = 'a\x1b[31mb\x1b]0;t\x07\x1b[2J\u009b1m\u202e漢\r\rc\r\nd\x1b[0'
  const bytes = Buffer.from(text)
  const complete = 'a\x1b[31mb\\u001b]0;t\\u0007\\u001b[2J\\u009b1m\\u202e漢\\u000d\\u000dc\r\nd'
  for (let i = 0; i <= bytes.length; i++) {
    const escapeChunk = createTerminalEscaper()
    const escaped = escapeChunk(bytes.subarray(0, i)) + escapeChunk(bytes.subarray(i))
    t.equal(escaped.replaceAll('\x1b[0m', ''), complete, `cut at ${i}`)
  }
  t.end()
})

t.test('bytes that are not UTF-8 become U+FFFD', (t) => {
  t.equal(createTerminalEscaper()(Uint8Array.of(0x61, 0x9b, 0x62)), 'a\ufffdb')
  t.end()
})

t.test('a stream that is not a terminal is not changed', (t) => {
  const { write } = process.stdout
  guardTerminal(Object.assign(Object.create(process.stdout), { isTTY: false }))
  t.equal(process.stdout.write, write)
  t.end()
})
