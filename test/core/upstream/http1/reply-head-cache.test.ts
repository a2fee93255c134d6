import t from 'tap'
import {
  createReplyHead,
  parseReplyHead,
  type ReplyHead,
} from '../../../../core/upstream/http1/reply-head.ts'
import { HeadMemory } from '../../../../core/upstream/http1/reply-head-cache.ts'

const HEAD =
  'HTTP/1.1 200 OK\r\nServer: a\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nKeep-Alive: timeout=7\r\n\r\n'

/** Buffer with a view of 64-bit words, and `text` at offset `at`. */
function toMemory(text: string, at = 0): { bytes: Buffer; words: Float64Array; to: number } {
  const bytes = Buffer.allocUnsafeSlow(at + text.length + 64 - ((at + text.length) % 8))
  bytes.write(text, at, 'latin1')
  return {
    bytes,
    words: new Float64Array(bytes.buffer, 0, bytes.length >> 3),
    to: at + text.length,
  }
}

/** Reads a head as a connection does: from the cache, otherwise parsed and added to the cache. */
function read(memory: HeadMemory, text: string, at = 0): { recalled: number; head: ReplyHead } {
  const head = createReplyHead()
  const { bytes, words, to } = toMemory(text, at)
  const recalled = memory.get(bytes, words, at, to, head)
  if (recalled > 0) return { recalled, head }
  const length = parseReplyHead(bytes.toString('latin1', at, to), head, memory.lines)
  if (typeof length === 'number' && length > 0) memory.set(bytes, at, length, head)
  return { recalled, head }
}

t.test('a head is read from the cache from the third time in a row, at any offset', async (t) => {
  const memory = new HeadMemory()
  const { head: parsed } = read(memory, `${HEAD}ok`)
  t.equal(read(memory, `${HEAD}ok`).recalled, 0)
  for (const at of [0, 8, 4, 1, 2, 3]) {
    const { recalled, head } = read(memory, `${HEAD}ok`, at)
    t.equal(recalled, HEAD.length, `at ${at}`)
    t.same(
      { ...head, headers: head.headers.flat },
      { ...parsed, repeated: false, headers: parsed.headers.flat },
    )
    t.equal(head.headers.format(), parsed.headers.format())
  }
})

t.test('a head that differs in one byte or is truncated is not read from the cache', async (t) => {
  const memory = new HeadMemory()
  read(memory, HEAD)
  read(memory, HEAD)
  t.equal(read(memory, HEAD).recalled, HEAD.length)
  for (let i = 0; i < HEAD.length; i++) {
    const other = `${HEAD.slice(0, i)}#${HEAD.slice(i + 1)}`
    const { bytes, words, to } = toMemory(other)
    t.equal(memory.get(bytes, words, 0, to, createReplyHead()), 0, `byte ${i}`)
    const part = toMemory(HEAD.slice(0, i))
    t.equal(memory.get(part.bytes, part.words, 0, i, createReplyHead()), 0, `${i} bytes`)
  }
})

t.test('changes to the headers of one response do not affect the next', async (t) => {
  const memory = new HeadMemory()
  read(memory, HEAD)
  read(memory, HEAD)
  const { head } = read(memory, HEAD)
  head.headers.append('x-a', '1')
  head.headers.delete('server')
  t.same(read(memory, HEAD).head.headers.flat, ['server', 'a', 'content-type', 'text/plain'])
})

t.test('heads with non-ASCII bytes or over 1 KiB are not cached', async (t) => {
  for (const field of ['X: \xe4', `X: ${'a'.repeat(1024)}`]) {
    const memory = new HeadMemory()
    const text = `HTTP/1.1 200 OK\r\n${field}\r\nContent-Length: 0\r\n\r\n`
    for (let i = 0; i < 4; i++) t.equal(read(memory, text).recalled, 0)
  }
})
