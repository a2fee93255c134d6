import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import t from 'tap'
import type { Exchange } from '../../../../core/exchange.ts'
import { HeaderList } from '../../../../core/http/headers.ts'
import { replyMemory } from '../../../../core/limits/memory-budget.ts'
import { createNodeListener } from '../../../../core/listener/node/listener.ts'
import { END_STREAM, FRAME, Http2Raw, toFrame } from '../../../fixtures/http2-raw.ts'
import { openListener } from '../../../fixtures/open-listener.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

type Fields = Record<string, unknown>

async function read(stream: ClientHttp2Stream) {
  let headers: Fields = {}
  let trailers: Fields | undefined
  stream.once('response', (fields) => {
    headers = fields
  })
  stream.once('trailers', (fields) => {
    trailers = fields
  })
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return { headers, body: Buffer.concat(chunks).toString(), trailers }
}

/** Events of body consumers at `/recorded`. */
const events: string[] = []

function serve(x: Exchange): void | Promise<void> {
  switch (x.path) {
    case '/trailers':
      x.start(200, new HeaderList(['content-type', 'application/grpc']), -1)
      x.write(Buffer.from('abc'))
      return x.end(new HeaderList(['grpc-status', '0', 'grpc-message', 'fine']))
    case '/no-body':
      x.start(200, new HeaderList(), -1)
      return x.end(new HeaderList(['grpc-status', '5']))
    case '/no-trailers':
      x.start(200, new HeaderList(), 3)
      x.write(Buffer.from('abc'))
      return x.end()
    case '/only':
      return x.send(200, new HeaderList(['grpc-status', '12']), '')
    case '/fields':
      return x.reply(200, '', [
        'x-a',
        '1',
        'x-a',
        '2',
        'set-cookie',
        'a=1',
        'set-cookie',
        'b=2',
        'content-type',
        'a/b',
        'content-type',
        'c/d',
      ])
    case '/echo':
      x.start(200, new HeaderList(), -1)
      x.pipeTo({
        onRequestBody: (chunk, last) => {
          x.write(chunk)
          if (last) x.end(x.requestTrailers)
        },
        onDrain: () => {},
        onAbort: () => {},
      })
      return
    case '/recorded':
      x.pipeTo({
        onRequestBody: (chunk, last) => {
          events.push(last ? 'end' : `${chunk}`)
          if (last) x.reply(200)
        },
        onDrain: () => {},
        onAbort: () => events.push('abort'),
      })
      return
    case '/early':
      return x.reply(401, 'who are you?')
    default:
      return response(x)
  }
}

async function response(x: Exchange): Promise<void> {
  const { length } = await x.readBody()
  const { httpVersion, takesTrailers, method, host, target, bodyLength, headers } = x
  const { flat } = headers
  x.reply(
    200,
    JSON.stringify({ httpVersion, takesTrailers, method, host, target, bodyLength, length, flat }),
  )
}

t.test('over one connection', async (t) => {
  const { port, served, faults, gateway } = await openListener(t, createNodeListener, serve, {
    http2: 'cleartext',
  })
  const client: ClientHttp2Session = connect(`http://127.0.0.1:${port}`)
  t.teardown(() => client.close())

  await t.test(
    'a request keeps path, headers and te, cookies are joined, mx-* headers are removed',
    async (t) => {
      const stream = client.request({
        ':path': '/a?b=c',
        'x-a': ['1', '2'],
        cookie: ['a=1', 'b=2'],
        te: 'trailers',
        'mx-account': 'root',
      })
      const { headers, body } = await read(stream)
      t.equal(headers[':status'], 200)
      t.equal(headers['content-length'], String(body.length))
      t.ok(headers['date'])
      t.same(JSON.parse(body), {
        httpVersion: '2',
        takesTrailers: true,
        method: 'GET',
        host: `127.0.0.1:${port}`,
        target: '/a?b=c',
        bodyLength: 0,
        length: 0,
        flat: ['x-a', '1', 'x-a', '2', 'cookie', 'a=1; b=2'],
      })
    },
  )

  await t.test('a response without a body arrives before the end of the request', async (t) => {
    const upload = client.request({ ':path': '/only', ':method': 'POST' })
    upload.write('a')
    const { headers } = await read(upload)
    t.match(headers, { ':status': 200, 'grpc-status': '12' })
  })

  await t.test('trailers follow a response with or without a body', async (t) => {
    const { headers, body, trailers } = await read(client.request({ ':path': '/trailers' }))
    t.equal(headers['content-type'], 'application/grpc')
    t.equal(body, 'abc')
    t.match(trailers, { 'grpc-status': '0', 'grpc-message': 'fine' })
    const empty = await read(client.request({ ':path': '/no-body' }))
    t.equal(empty.body, '')
    t.match(empty.trailers, { 'grpc-status': '5' })
    const none = await read(client.request({ ':path': '/no-trailers' }))
    t.equal(none.body, 'abc')
    t.equal(none.headers['content-length'], '3')
    t.equal(none.trailers, undefined)
  })

  await t.test(
    'a response without a body is a single HEADERS frame without content-length',
    async (t) => {
      const stream = client.request({ ':path': '/only' })
      const [headers, flags] = await once(stream, 'response')
      t.equal(flags & 1, 1, 'END_STREAM')
      t.equal(headers['grpc-status'], '12')
      t.notOk('content-length' in headers)
      stream.resume()
      await once(stream, 'close')
    },
  )

  await t.test('repeated headers that the HTTP/2 library rejects are combined', async (t) => {
    const { headers } = await read(client.request({ ':path': '/fields' }))
    t.match(headers, { 'x-a': '1, 2', 'set-cookie': ['a=1', 'b=2'], 'content-type': 'a/b, c/d' })
  })

  await t.test(
    'request and response bodies stream concurrently, trailers in both directions',
    async (t) => {
      const stream = client.request(
        { ':path': '/echo', ':method': 'POST' },
        { waitForTrailers: true },
      )
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '42', 'mx-account': 'root' }))
      let trailers: Fields = {}
      stream.once('trailers', (fields) => {
        trailers = fields
      })
      await once(stream, 'response')
      for (const word of ['one', 'two', 'three']) {
        stream.write(word)
        const [chunk] = await once(stream, 'data')
        t.equal(String(chunk), word)
      }
      stream.end()
      stream.resume()
      await once(stream, 'close')
      t.equal(trailers['x-sum'], '42')
      t.notOk('mx-account' in trailers, 'internal headers are removed')
    },
  )

  await t.test(
    'a response before the end of the request ends the stream without an error',
    async (t) => {
      const stream = client.request({ ':path': '/early', ':method': 'POST' })
      stream.write('some')
      const { headers, body } = await read(stream)
      t.equal(headers[':status'], 401)
      t.equal(body, 'who are you?')
      t.equal(stream.rstCode, 0)
      const next = await read(client.request({ ':path': '/next' }))
      t.equal(next.headers[':status'], 200, 'the connection stays open')
    },
  )

  await t.test('rejects CONNECT with 405 and ends only its stream', async (t) => {
    const stream = client.request({ ':method': 'CONNECT', ':authority': 'a.test:80' })
    t.equal((await read(stream)).headers[':status'], 405)
  })

  t.ok(served.every((x) => x.finished))
  t.equal(gateway.inFlight, 0)
  t.same(faults, [])
})

t.test('a request body without END_STREAM is aborted, for HEAD and POST', async (t) => {
  const { port } = await openListener(t, createNodeListener, serve, { http2: 'cleartext' })
  const ends: [title: string, end: (raw: Http2Raw, stream: number) => void, last: string][] = [
    ['its end', (raw, stream) => raw.send(toFrame(FRAME.DATA, END_STREAM, stream)), 'end'],
    ['CANCEL', (raw, stream) => raw.send(toFrame(FRAME.RST_STREAM, 0, stream, toCode(8))), 'abort'],
    [
      'NO_ERROR',
      (raw, stream) => raw.send(toFrame(FRAME.RST_STREAM, 0, stream, toCode(0))),
      'abort',
    ],
    ['the end of the connection', (raw) => raw.destroy(), 'abort'],
  ]
  for (const method of ['HEAD', 'POST'])
    for (const [title, end, last] of ends) {
      events.length = 0
      const raw = new Http2Raw(port)
      const stream = raw.open(
        [':method', method, ':scheme', 'http', ':authority', 'a.test', ':path', '/recorded'],
        0,
      )
      raw.send(toFrame(FRAME.DATA, 0, stream, Buffer.from('abc')))
      while (events.length < 1) await new Promise(setImmediate)
      end(raw, stream)
      while (events.length < 2) await new Promise(setImmediate)
      t.same(events, ['abc', last], `${method}, ${title}`)
      raw.destroy()
    }
})

function toCode(code: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(code)
  return bytes
}

t.test('unread responses share a memory limit, and further responses return 503', async (t) => {
  const { maxBytes } = replyMemory
  const body = Buffer.alloc(100_000, 'a')
  replyMemory.maxBytes = 3 * body.length
  t.teardown(() => {
    replyMemory.maxBytes = maxBytes
  })
  const { port } = await openListener(t, createNodeListener, (x) => x.reply(200, body), {
    http2: 'cleartext',
  })
  const client = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } })
  client.on('error', () => {})
  t.teardown(() => client.destroy())
  const status = async (): Promise<unknown> => {
    const [headers] = await once(client.request({ ':path': '/' }), 'response')
    return headers[':status']
  }
  t.strictSame([await status(), await status(), await status()], [200, 200, 200])
  t.equal(replyMemory.usedBytes, 3 * body.length)
  t.equal(await status(), 503)
  client.destroy()
  await waitUntil(() => replyMemory.usedBytes === 0)
})
