import t from 'tap'
import { ReplyReader } from '../../../cli/load/reply-reader.ts'
import { parseServerTiming } from '../../../cli/load/server-timing.ts'

interface Case {
  readonly title: string
  readonly reply: string
  readonly status?: number
  readonly keepAlive?: boolean
  readonly noBody?: boolean
  readonly result?: 'done' | 'malformed' | 'more'
}

const CASES: readonly Case[] = [
  { title: 'a body of known length', reply: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello' },
  {
    title: 'an empty body',
    reply: 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n',
    status: 404,
  },
  { title: 'no reason phrase', reply: 'HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n' },
  { title: '204 without a length', reply: 'HTTP/1.1 204 No Content\r\n\r\n', status: 204 },
  {
    title: '304 with a length and no body',
    reply: 'HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n',
    status: 304,
  },
  {
    title: 'a response to HEAD',
    reply: 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n',
    noBody: true,
  },
  {
    title: 'chunks, with extensions and trailers',
    reply:
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;a=b\r\nhello\r\nA\r\n0123456789\r\n0\r\nx-sum: 1\r\n\r\n',
  },
  {
    title: 'informational responses before the final one',
    reply:
      'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n',
    status: 201,
  },
  {
    title: 'connection: close',
    reply: 'HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 1\r\n\r\nx',
    keepAlive: false,
  },
  { title: 'HTTP/1.0', reply: 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx', keepAlive: false },
  {
    title: 'a response delimited by the end of the connection',
    reply: 'HTTP/1.1 200 OK\r\n\r\nwhatever',
    keepAlive: false,
    result: 'more',
  },
  { title: 'something that is not HTTP', reply: 'SSH-2.0-OpenSSH\r\n\r\n', result: 'malformed' },
  {
    title: 'a header without a colon',
    reply: 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\n',
    result: 'malformed',
  },
  {
    title: 'two different lengths',
    reply: 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx',
    result: 'malformed',
  },
  {
    title: 'Content-Length and chunks',
    reply: 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    result: 'malformed',
  },
  {
    title: 'a negative length',
    reply: 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n',
    result: 'malformed',
  },
  {
    title: 'an invalid chunk size',
    reply: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n',
    result: 'malformed',
  },
  {
    title: 'a chunk longer than its size',
    reply: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n',
    result: 'malformed',
  },
  {
    title: 'a protocol switch',
    reply: 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n',
    result: 'malformed',
  },
  {
    title: 'headers without an end',
    reply: `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(12_000)}`,
    result: 'malformed',
  },
]

/** Feeds `reply` in chunks of `size` bytes and returns the last result. */
function feed(reader: ReplyReader, reply: string, size: number): string {
  const bytes = Buffer.from(reply, 'latin1')
  let result = 'more'
  for (let at = 0; at < bytes.length && result === 'more'; at += size)
    result = reader.read(bytes.subarray(at, at + size))
  return result
}

for (const {
  title,
  reply,
  status = 200,
  keepAlive = true,
  noBody = false,
  result = 'done',
} of CASES) {
  t.test(`${title}: ${result}, in one chunk and in several`, async (t) => {
    for (const size of [Number.POSITIVE_INFINITY, 1, 2, 3, 7]) {
      const reader = new ReplyReader(noBody)
      t.equal(feed(reader, reply, Math.min(size, reply.length)), result)
      if (result === 'malformed') continue
      t.equal(reader.status, status)
      t.equal(reader.keepAlive, keepAlive)
    }
  })
}

t.test('bytes after the response are malformed', async (t) => {
  t.equal(
    new ReplyReader(false).read(
      Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxHTTP/1.1 200'),
    ),
    'malformed',
  )
  t.equal(
    new ReplyReader(true).read(Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx')),
    'malformed',
  )
})

t.test(
  'the end of the connection completes a response without framing, and truncates others',
  async (t) => {
    const open = new ReplyReader(false)
    open.read(Buffer.from('HTTP/1.1 200 OK\r\n\r\nsome'))
    t.equal(open.end(), 'done')
    const truncated = new ReplyReader(false)
    truncated.read(Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome'))
    t.equal(truncated.end(), 'malformed')
  },
)

t.test('a reader parses consecutive responses after reset', async (t) => {
  const reader = new ReplyReader(false)
  reader.read(
    Buffer.from(
      'HTTP/1.1 500 Oops\r\nconnection: close\r\nserver-timing: gateway;dur=1\r\ncontent-length: 0\r\n\r\n',
    ),
  )
  t.equal(reader.serverTiming, 'gateway;dur=1')
  reader.reset()
  t.equal(reader.read(Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')), 'done')
  t.match(reader, { status: 200, keepAlive: true, serverTiming: '' })
})

t.test('Server-Timing is parsed into the times of gateway and backend', async (t) => {
  t.same(parseServerTiming('gateway;dur=0.12, upstream;dur=3.5'), {
    gatewayMs: 0.12,
    upstreamMs: 3.5,
  })
  t.same(parseServerTiming('db;dur=9, upstream;desc=x;dur="2", gateway ; dur=1'), {
    gatewayMs: 1,
    upstreamMs: 2,
  })
  t.same(parseServerTiming('gateway;dur=1'), { gatewayMs: 1, upstreamMs: 0 })
  t.equal(parseServerTiming('cache;desc=hit, db;dur=2'), undefined)
  t.equal(parseServerTiming('gateway'), undefined)
})
