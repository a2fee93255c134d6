import * as zlib from 'node:zlib'
import t from 'tap'
import { HeaderList } from '../../../core/http/headers.ts'
import compress from '../../../plugins/http/compress.ts'
import {
  buildPlugin,
  runPlugin,
  type TestHeaders,
  type TestReply,
  type TestRequest,
  type TestResult,
} from '../../../sdk/testing.ts'

const TEXT = 'mx '.repeat(1000)
/** Too long to be compressed in the main thread. */
const LONG_TEXT = 'mx '.repeat(20_000)
/** In Node.js from version 22.15. */
const zstdDecompress = (zlib as { zstdDecompressSync?: (bytes: Uint8Array) => Buffer })
  .zstdDecompressSync
const JSON_TYPE = { 'content-type': 'application/json' }
const standard = buildPlugin(compress)

function get(
  acceptEncoding: string,
  reply: TestReply = {},
  request: TestRequest = {},
  plugin = standard,
): Promise<TestResult> {
  return runPlugin(
    plugin,
    { ...request, headers: { 'accept-encoding': acceptEncoding, ...request.headers } },
    { reply: { body: TEXT, headers: JSON_TYPE, ...reply } },
  )
}

function decode({ headers, x }: TestResult): string {
  const bytes = Buffer.concat(x.chunks)
  switch (headers.get('content-encoding')) {
    case 'gzip':
      return zlib.gunzipSync(bytes).toString()
    case 'br':
      return zlib.brotliDecompressSync(bytes).toString()
    case 'zstd':
      return zstdDecompress!(bytes).toString()
    default:
      return bytes.toString()
  }
}

t.test('compresses with the best coding that the client accepts', async (t) => {
  const best = zstdDecompress !== undefined ? 'zstd' : 'br'
  for (const [accepted, coding] of [
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br, zstd', best],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['br;q=0, *', best === 'zstd' ? 'zstd' : 'gzip'],
    ['deflate', undefined],
    ['identity', undefined],
    ['gzip;q=0', undefined],
    ['', undefined],
  ] as const) {
    for (const body of [TEXT, LONG_TEXT]) {
      const result = await get(accepted, { body })
      const name = `${accepted}, ${body.length} bytes`
      t.equal(result.headers.get('content-encoding'), coding, name)
      t.equal(decode(result), body, name)
      t.equal(result.headers.get('vary'), 'accept-encoding', name)
    }
  }
})

t.test('the first coding of the list wins if the client accepts several equally', async (t) => {
  const plugin = buildPlugin(compress, { encodings: ['gzip', 'br'] })
  const { headers } = await get('br, gzip', {}, {}, plugin)
  t.equal(headers.get('content-encoding'), 'gzip')
})

t.test('leaves responses unchanged that must not or need not be compressed', async (t) => {
  const replies: Record<string, TestReply> = {
    'below the minimum size': { body: 'x'.repeat(1023) },
    'compressed media type': { headers: { 'content-type': 'image/png' } },
    'event stream': { headers: { 'content-type': 'text/event-stream' } },
    'without a media type': { headers: {} },
    encoded: { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } },
    'no-transform': { headers: { ...JSON_TYPE, 'cache-control': 'public, No-Transform' } },
    partial: { status: 206, headers: { ...JSON_TYPE, 'content-range': 'bytes 0-2/9' } },
    gRPC: { headers: { 'content-type': 'application/grpc+json' } },
  }
  for (const [name, reply] of Object.entries(replies)) {
    const { x, headers } = await get('gzip', reply)
    t.equal(x.body, reply.body ?? TEXT, name)
    t.equal(headers.has('vary'), false, name)
    t.equal(headers.get('content-encoding'), reply.headers?.['content-encoding'], name)
  }
  const request = { headers: { 'cache-control': 'no-transform' } }
  t.equal((await get('gzip', {}, request)).body, TEXT, 'no-transform of the request')
})

t.test('compresses the media types of the list', async (t) => {
  const plugin = buildPlugin(compress, { types: ['text/*', '*+json', 'text/event-stream'] })
  for (const [type, isCompressed] of [
    ['text/html; charset=utf-8', true],
    ['TEXT/CSS', true],
    ['application/problem+json', true],
    ['text/event-stream', true],
    ['application/json', false],
  ] as const) {
    const { headers } = await get('gzip', { headers: { 'content-type': type } }, {}, plugin)
    t.equal(headers.has('content-encoding'), isCompressed, type)
  }
})

t.test('HEAD has the headers of GET', async (t) => {
  for (const body of [TEXT, LONG_TEXT]) {
    const { headers } = await get('gzip', { body }, { method: 'HEAD' })
    t.equal(headers.get('content-encoding'), 'gzip')
    t.equal(headers.get('vary'), 'accept-encoding')
  }
  const { x } = await get('gzip', { body: LONG_TEXT }, { method: 'HEAD' })
  t.equal(x.announcedLength, -1)
  t.equal(x.body, '')
})

t.test('entity tags of compressed responses are weak, also in a later 304', async (t) => {
  const headers: TestHeaders = { ...JSON_TYPE, etag: '"1"' }
  t.equal((await get('gzip', { headers })).headers.get('etag'), 'W/"1"')
  const reply = { status: 304, headers: { etag: '"1"' }, body: '' }
  const weak = { headers: { 'if-none-match': 'W/"1"' } }
  t.equal((await get('gzip', reply, weak)).headers.get('etag'), 'W/"1"')
  const strong = { headers: { 'if-none-match': '"1"' } }
  t.equal((await get('gzip', reply, strong)).headers.get('etag'), '"1"')
})

t.test('keeps existing names in Vary', async (t) => {
  for (const [vary, expected] of [
    ['origin', ['origin', 'accept-encoding']],
    ['Origin, Accept-Encoding', ['Origin, Accept-Encoding']],
    ['*', ['*']],
  ] as const) {
    const { headers } = await get('gzip', { headers: { ...JSON_TYPE, vary } })
    t.strictSame(headers.getAll('vary'), expected)
  }
})

t.test('a chunk of a stream is sent before the next one arrives', async (t) => {
  for (const coding of ['gzip', 'br', ...(zstdDecompress !== undefined ? ['zstd'] : [])]) {
    let reached = false
    await runPlugin(
      standard,
      { headers: { 'accept-encoding': coding } },
      {
        handle: async (x) => {
          x.start(200, new HeaderList(['content-type', 'application/x-ndjson']), -1)
          x.write(Buffer.from('{"a":1}\n'))
          while (x.bytesOut === 0) await new Promise(setImmediate)
          reached = true
          x.end()
        },
      },
    )
    t.equal(reached, true, coding)
  }
})

t.test('responses above max_streams are sent as is', async (t) => {
  const plugin = buildPlugin(compress, { max_streams: 1 })
  let second: TestResult | undefined
  const first = await runPlugin(
    plugin,
    { headers: { 'accept-encoding': 'gzip' } },
    {
      handle: async (x) => {
        x.start(200, new HeaderList(['content-type', 'text/plain']), -1)
        second = await get('gzip', { body: LONG_TEXT }, {}, plugin)
        x.write(Buffer.from('abc'))
        x.end()
      },
    },
  )
  t.equal(decode(first), 'abc')
  t.equal(first.headers.get('content-encoding'), 'gzip')
  t.equal(second?.body, LONG_TEXT)
  t.equal(second?.headers.get('vary'), 'accept-encoding')
  await new Promise(setImmediate)
  const third = await get('gzip', { body: LONG_TEXT }, {}, plugin)
  t.equal(third.headers.get('content-encoding'), 'gzip', 'again after the first has ended')
})

t.test('rejects invalid options', async (t) => {
  t.throws(() => buildPlugin(compress, { min: 'big' }), /min .*big/)
  t.throws(
    () => buildPlugin(compress, { types: ['json'] }),
    /types must contain media types .* got "json"/,
  )
  t.throws(() => buildPlugin(compress, { encodings: ['deflate'] }), /encodings/)
  t.throws(() => buildPlugin(compress, { level: 0 }), /level/)
})
