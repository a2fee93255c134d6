import fc from 'fast-check'
import t from 'tap'
import {
  CHUNKED,
  createReplyHead,
  type LineMemory,
  parseReplyHead,
  type ReplyHead,
  UNTIL_CLOSE,
} from '../../../../core/upstream/http1/reply-head.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'
import { REPLIES } from '../../../fixtures/replies.ts'

function parse(text: string, cache: LineMemory = []): ReplyHead & { result: number | string } {
  const head = createReplyHead()
  const result = parseReplyHead(text, head, cache)
  return { ...head, result }
}

const OK = 'HTTP/1.1 200 OK\r\n'

t.test('a head is parsed into status, headers, length and persistence', async (t) => {
  const text = `${OK}Content-Type: text/plain\r\nContent-Length: 12\r\nKeep-Alive: timeout=7, max=9\r\n\r\n`
  const { status, headers, length, persistent, idleSeconds, result } = parse(`${text}body`)
  t.equal(result, text.length)
  t.equal(status, 200)
  t.strictSame(headers.flat, ['content-type', 'text/plain'])
  t.equal(length, 12)
  t.equal(persistent, true)
  t.equal(idleSeconds, 7)
})

t.test(
  'body length and persistence follow from Transfer-Encoding, Connection and version',
  async (t) => {
    t.equal(parse(`${OK}\r\n`).length, UNTIL_CLOSE)
    t.equal(parse(`${OK}Transfer-Encoding: chunked\r\n\r\n`).length, CHUNKED)
    t.equal(parse('HTTP/1.0 200 OK\r\n\r\n').persistent, false)
    t.equal(parse('HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n').persistent, true)
    t.equal(parse(`${OK}Connection: close\r\n\r\n`).persistent, false)
    t.equal(parse(`${OK}Connection: keep-alive, close\r\n\r\n`).persistent, false)
    t.equal(parse(`${OK}Keep-Alive: timeout=0\r\nConnection: keep-alive\r\n\r\n`).persistent, false)
    t.equal(parse(`${OK}Keep-Alive: max=5\r\n\r\n`).idleSeconds, 0)
  },
)

t.test('hop-by-hop headers and Date are not forwarded, Age and Expires are', async (t) => {
  const names = ['Proxy-Connection', 'Proxy-Authenticate', 'TE', 'Trailer', 'Upgrade', 'Date']
  const dropped = names.map((name) => `${name}: x\r\n`).join('')
  const { headers } = parse(`${OK}${dropped}Age: 5\r\nExpires: 0\r\n\r\n`)
  t.strictSame(headers.flat, ['age', '5', 'expires', '0'])
})

t.test('an incomplete head returns 0', async (t) => {
  const text = `${OK}Content-Length: 2\r\nX: 1\r\n\r\n`
  for (let i = 0; i < text.length; i++) t.equal(parse(text.slice(0, i)).result, 0, `${i} bytes`)
  t.equal(parse(text).result, text.length)
})

t.test('a non-ASCII value sets ascii to false', async (t) => {
  t.equal(parse(`${OK}X: a\r\n\r\n`).headers.ascii, true)
  t.equal(parse(`${OK}X: \xe4\r\n\r\n`).headers.ascii, false)
  const cache: LineMemory = []
  parse(`${OK}X: \xe4\r\n\r\n`, cache)
  t.equal(parse(`${OK}X: \xe4\r\n\r\n`, cache).headers.ascii, false, 'including a cached line')
})

t.test('cached lines do not change the result', async (t) => {
  const heads = REPLIES.map(({ raw }) => raw)
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...heads), { minLength: 2, maxLength: 6 }), (sequence) => {
      const cache: LineMemory = []
      return sequence.every((raw) => {
        const fresh = parse(raw)
        const cached = parse(raw, cache)
        if (typeof fresh.result !== 'number' || fresh.result === 0)
          return cached.result === fresh.result
        return JSON.stringify({ ...fresh, repeated: cached.repeated }) === JSON.stringify(cached)
      })
    }),
    { numRuns: scaleRuns(500) },
  )
  const cache: LineMemory = []
  parse(`${OK}Content-Length: 2\r\nA: 1\r\n\r\n`, cache)
  t.equal(
    parse(`${OK}Content-Length: 2\r\nContent-Length: 2\r\n\r\n`, cache).result,
    'more than one Content-Length',
  )
  t.equal(
    parse(`${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`, cache).result,
    'both Content-Length and Transfer-Encoding',
  )
  t.strictSame(
    parse(`${OK}Content-Length: 22\r\nA: 12\r\n\r\n`, cache).headers.flat,
    ['a', '12'],
    'a line that starts like a cached one',
  )
})

t.test('the line cache is bounded', async (t) => {
  const cache: LineMemory = []
  parse(`${OK}${Array.from({ length: 100 }, (_, i) => `X-${i}: ${i}\r\n`).join('')}\r\n`, cache)
  t.equal(cache.length, 32)
  const long: LineMemory = []
  parse(`${OK}X: ${'x'.repeat(5000)}\r\n\r\n`, long)
  t.equal(long.filter(Boolean).length, 1)
})

t.test('equal lines of several nodes share one cache entry', async (t) => {
  const [a, b]: LineMemory[] = [[], []]
  const long = `X: ${'x'.repeat(300)}\r\n`
  for (const cache of [a!, b!]) parse(`${OK}Server: shared\r\n${long}\r\n`, cache)
  t.equal(a!.length, 2)
  t.equal(a![0], b![0])
  t.equal(a![1], b![1])
  parse(`${OK}Server: other\r\n\r\n`, b)
  t.match([a![1], b![1]], [{ value: 'shared' }, { value: 'other' }])
  t.equal(
    parse(`${OK}${OK}\r\n`).result,
    'header without a colon',
    'a cached status line is not a header',
  )
  t.equal(
    parse('Server: shared\r\n\r\n').result,
    'status line must be HTTP/1.1, a code of three digits and a reason',
  )
})

t.test('the error names the malformed part of a head', async (t) => {
  const cases: [string, string][] = [
    ['HTTP/2 200\r\n', 'status line must be HTTP/1.1, a code of three digits and a reason'],
    [`${OK}A\r\n`, 'header without a colon'],
    [`${OK}A : 1\r\n`, 'header name must be a token'],
    [`${OK}A: \0\r\n`, 'control character in a header'],
    [`${OK}Content-Length: x\r\n`, 'Content-Length must be 1 to 15 digits'],
    [`${OK}Transfer-Encoding: gzip\r\n`, 'Transfer-Encoding must be chunked'],
    [
      'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      'Transfer-Encoding in an HTTP/1.0 response',
    ],
    [`${OK}A: 1\n\n`, 'bare line feed in the head'],
  ]
  for (const [text, fault] of cases) t.equal(parse(text).result, fault)
})
