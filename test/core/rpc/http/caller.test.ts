import type { IncomingMessage, RequestListener } from 'node:http'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { OutgoingCall } from '../../../../core/rpc/call.ts'
import { deadlines } from '../../../../core/rpc/deadlines.ts'
import { PlainCaller } from '../../../../core/rpc/http/caller.ts'
import { formatMetadata } from '../../../../core/rpc/metadata.ts'
import { Pool, type PoolOptions } from '../../../../core/upstream/pool/pool.ts'
import { clock } from '../../../../lib/time/coarse-clock.ts'
import { listenHttp } from '../../../fixtures/listen.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'
import { openRawBackend, tick, waitUntil } from '../../../fixtures/raw-backend.ts'
import { RecordedCall } from '../../../fixtures/rpc.ts'

const SECOND = 1000
const MAX_BYTES = 16 * 1024 * 1024

function openCaller(t: Test, port: number, options: Partial<PoolOptions> = {}) {
  const pool = new Pool({
    host: '127.0.0.1',
    port,
    secure: false,
    timeouts: { connectMs: 5 * SECOND, replyMs: 10 * SECOND, idleMs: 20 * SECOND },
    keepAliveMs: 30 * SECOND,
    pipeline: 1,
    maxConnections: 8,
    maxWaiting: 8,
    ...options,
  })
  const caller = new PlainCaller(pool, { host: '127.0.0.1', port })
  t.teardown(() => caller.close())
  return { caller, pool }
}

function send(caller: PlainCaller, fields: Partial<OutgoingCall> = {}): RecordedCall {
  const call = new RecordedCall(fields)
  caller.call(call)
  return call
}

const hasEnded = (call: RecordedCall) => /^(reply|fail|lost|end)/.test(call.events.at(-1) ?? '')

/** Resolves with the events of a call once it has ended. */
async function waitForEnd(call: RecordedCall): Promise<string[]> {
  await waitUntil(() => hasEnded(call))
  return call.events
}

interface Request {
  readonly head: IncomingMessage
  readonly body: string
}

/** A service on node:http. */
async function openService(t: Test, listener: RequestListener) {
  const requests: Request[] = []
  return {
    port: await listenHttp(t, (request, response) => {
      let body = ''
      request.setEncoding('latin1')
      request.on('data', (chunk: string) => {
        body += chunk
      })
      request.on('end', () => {
        requests.push({ head: request, body })
        listener(request, response)
      })
    }),
    requests,
  }
}

/** Makes a call that receives the response `bytes`; `close` closes the connection afterwards. */
async function callWithResponse(
  t: Test,
  bytes: string | Buffer,
  { close = false, ...fields }: Partial<OutgoingCall> & { close?: boolean } = {},
): Promise<RecordedCall> {
  const backend = await openRawBackend(t, {
    onRequest: (connection) => {
      connection.send(Buffer.from(bytes as string))
      if (close) connection.socket.end()
    },
  })
  const { caller } = openCaller(t, backend.port)
  const call = send(caller, fields)
  await waitForEnd(call)
  t.equal(caller.pending, 0)
  t.equal(call.carrier, undefined)
  return call
}

const head = (status: string, ...fields: string[]) =>
  `HTTP/1.1 ${status}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`
const complete = (status: string, body: string, ...fields: string[]) =>
  head(status, ...fields, `Content-Length: ${Buffer.byteLength(body)}`) + body
const LINES = 'Content-Type: application/x-ndjson'
const CHUNKED = 'Transfer-Encoding: chunked'
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const lines = (...texts: string[]) =>
  `${head('200 OK', LINES, CHUNKED)}${texts.map(chunk).join('')}0\r\n\r\n`

t.test('a call is POST / with headers for its names, timeout and metadata', async (t) => {
  const { port, requests } = await openService(t, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'X-Reply': 'a', Date: 'now' })
    response.end('{"msg":"Hello John"}')
  })
  const { caller } = openCaller(t, port)
  const call = send(caller, {
    timeoutMs: 10_000,
    metadata: formatMetadata([
      'mx-account',
      '{"id":"1"}',
      'x-a',
      '1',
      'x-a',
      '2',
      'x-b',
      'gr\xfcn',
    ]),
  })
  t.equal(caller.pending, 1)
  t.strictSame(await waitForEnd(call), [
    'reply "content-type: application/json\\r\\nx-reply: a\\r\\n" {"msg":"Hello John"}',
  ])
  t.equal(caller.pending, 0)
  const [{ head, body }] = requests as [Request]
  t.equal(head.method, 'POST')
  t.equal(head.url, '/')
  t.equal(head.httpVersion, '1.1')
  t.equal(body, '{"name":"John"}')
  const { 'mx-timeout': timeout, ...fields } = head.headers
  t.match(timeout, /^\d+$/)
  t.ok(Number(timeout) > 9000 && Number(timeout) <= 10_000, `${timeout} ms`)
  t.strictSame(
    { ...fields },
    {
      host: `127.0.0.1:${port}`,
      'mx-service': 'helloworld',
      'mx-endpoint': 'Helloworld.Call',
      'mx-account': '{"id":"1"}',
      'x-a': '1, 2',
      'x-b': 'gr\xfcn',
      'content-type': 'application/json',
      'content-length': '15',
    },
  )
})

t.test('the content type comes from the metadata, and a body can be bytes or empty', async (t) => {
  const { port, requests } = await openService(t, (_request, response) => response.end())
  const { caller } = openCaller(t, port)
  const metadata = formatMetadata(['content-type', 'application/protobuf'])
  const body = Buffer.from([0, 10, 255])
  t.strictSame(await waitForEnd(send(caller, { metadata, body })), ['reply "" '])
  t.strictSame(await waitForEnd(send(caller, { body: '' })), ['reply "" '])
  t.strictSame(await waitForEnd(send(caller, { body: 'grün' })), ['reply "" '])
  t.strictSame(
    requests.map(({ head: { headers }, body }) => [
      headers['content-type'],
      headers['content-length'],
      headers['mx-timeout'],
      body,
    ]),
    [
      ['application/protobuf', '3', undefined, '\0\n\xff'],
      ['application/json', '0', undefined, ''],
      ['application/json', '5', undefined, 'gr\xc3\xbcn'],
    ],
  )
})

t.test('metadata cannot override routing, framing or call headers', async (t) => {
  const { port, requests } = await openService(t, (_request, response) => response.end())
  const { caller } = openCaller(t, port)
  const dropped = [
    ...['host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade'],
    ...['te', 'trailer', 'expect', 'proxy-connection', 'http2-settings', 'date'],
    ...['mx-service', 'mx-endpoint', 'mx-timeout', 'mx_account', 'origin'],
  ]
  const fields = [...dropped, 'mx-namespace', 'x-b', 'content-type', 'content-type']
  const call = send(caller, { metadata: fields.map((name) => `${name}: 1\r\n`).join('') })
  t.strictSame(await waitForEnd(call), ['reply "" '])
  t.strictSame(
    { ...requests[0]!.head.headers },
    {
      host: `127.0.0.1:${port}`,
      'mx-service': 'helloworld',
      'mx-endpoint': 'Helloworld.Call',
      'mx-namespace': '1',
      'x-b': '1',
      'content-type': '1',
      'content-length': '15',
    },
  )
})

t.test('a call that HTTP cannot carry fails before anything is sent', async (t) => {
  const backend = await openRawBackend(t)
  const { caller } = openCaller(t, backend.port)
  const cases: [Partial<OutgoingCall>, string][] = [
    [{ metadata: 'x-a: 1\r\nx-b: 1\n2\r\n' }, 'fail 400 helloworld: metadata is malformed'],
    [{ metadata: 'x-a: 1' }, 'fail 400 helloworld: metadata is malformed'],
    [{ metadata: 'x a: 1\r\n' }, 'fail 400 helloworld: metadata is malformed'],
    [{ metadata: '\r\n' }, 'fail 400 helloworld: metadata is malformed'],
    [
      { metadata: `x: ${'a'.repeat(65_536)}\r\n` },
      'fail 431 helloworld: metadata must be at most 65536 bytes',
    ],
    [
      { body: 'ü'.repeat(MAX_BYTES / 2 + 1) },
      `fail 413 helloworld: request must be at most ${MAX_BYTES} bytes`,
    ],
    [
      { more: true, stream: true },
      'fail 400 helloworld: client streaming requires the WebSocket transport',
    ],
    [
      { endpoint: 'A.B\r\nx-a: 1' },
      'fail 400 helloworld: names must be 1 to 1024 visible ASCII characters',
    ],
    [{ endpoint: '' }, 'fail 400 helloworld: names must be 1 to 1024 visible ASCII characters'],
    [
      { endpoint: 'a'.repeat(1025) },
      'fail 400 helloworld: names must be 1 to 1024 visible ASCII characters',
    ],
    [{ service: 'ü' }, 'fail 400 ü: names must be 1 to 1024 visible ASCII characters'],
  ]
  for (const [fields, event] of cases) {
    const call = send(caller, { timeoutMs: 1000, ...fields })
    t.strictSame(call.events, [event])
    t.equal(call.carrier, undefined)
    t.equal(call.timedNext, undefined)
  }
  t.equal(caller.pending, 0)
  t.equal(backend.connections.length, 0)
  t.equal(deadlines.size, 0)
})

t.test('connections are reused by queued calls', async (t) => {
  const backend = await openRawBackend(t, { onRequest: (connection) => connection.reply('ok') })
  const { caller } = openCaller(t, backend.port, { maxConnections: 2, maxWaiting: 100 })
  const calls = Array.from({ length: 50 }, () => send(caller))
  t.equal(caller.pending, 50)
  await waitUntil(() => calls.every(hasEnded))
  for (const { events } of calls) t.strictSame(events, ['reply "" ok'])
  t.equal(backend.connections.length, 2)
})

t.test('a 200 response is a reply with its end-to-end headers as metadata', async (t) => {
  const reply = complete(
    '200 Fine',
    'body',
    'X-A: 1',
    'x-a:2',
    'Content-Type: text/plain',
    'Date: x',
  )
  t.strictSame((await callWithResponse(t, reply)).events, [
    'reply "x-a: 1\\r\\nx-a: 2\\r\\ncontent-type: text/plain\\r\\n" body',
  ])
  const unusualResponse = complete(
    '200 OK',
    'b',
    'Connection: x-hop',
    'X-Hop: 1',
    'X-C: gr\xfcn',
    'Upgrade: a',
  )
  t.strictSame((await callWithResponse(t, Buffer.from(unusualResponse, 'latin1'))).events, [
    'reply "x-c: gr\xfcn\\r\\n" b',
  ])
  t.strictSame((await callWithResponse(t, complete('200 OK', 'b'), { stream: true })).events, [
    'reply "" b',
  ])
})

t.test('204 and 200 responses without a body are empty replies', async (t) => {
  t.strictSame((await callWithResponse(t, head('204 No Content', 'X-A: 1'))).events, [
    'reply "x-a: 1\\r\\n" ',
  ])
  t.strictSame((await callWithResponse(t, complete('200 OK', ''))).events, ['reply "" '])
  t.strictSame(
    (await callWithResponse(t, head('204 No Content', LINES), { stream: true })).events,
    ['reply "content-type: application/x-ndjson\\r\\n" '],
  )
})

t.test('chunked bodies and bodies delimited by the end of the connection are read', async (t) => {
  const chunked = `${head('200 OK', CHUNKED)}${chunk('ab')}${chunk('cd')}0\r\n\r\n`
  t.strictSame((await callWithResponse(t, chunked)).events, ['reply "" abcd'])
  const old = 'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{"a":1}'
  t.strictSame((await callWithResponse(t, old, { close: true })).events, [
    'reply "content-type: application/json\\r\\n" {"a":1}',
  ])
})

t.test('a response that arrives byte by byte is parsed identically', async (t) => {
  const replies: [string, string[]][] = [
    [complete('200 OK', '{"a":1}', 'X-A: 1'), ['reply "x-a: 1\\r\\n" {"a":1}']],
    [`${head('200 OK', CHUNKED)}${chunk('{"a"')}${chunk(':1}')}0\r\n\r\n`, ['reply "" {"a":1}']],
    [
      lines('{"a":1}\n{"b"', ':2}\r\n', '\n{"error":{"Code":409,"Id":"x","Detail":"gone"}}\n'),
      ['start ""', 'data {"a":1}', 'data {"b":2}', 'fail 409 x: gone'],
    ],
    [
      complete('404 Not Found', '{"code":404,"ID":"a.b","detail":"no John"}'),
      ['fail 404 a.b: no John'],
    ],
  ]
  for (const [reply, events] of replies) {
    const backend = await openRawBackend(t)
    const { caller } = openCaller(t, backend.port)
    const call = send(caller, { stream: events.length > 1 })
    const connection = await backend.connection()
    await connection.request()
    for (const byte of reply) {
      connection.send(byte)
      await tick()
    }
    t.strictSame(await waitForEnd(call), events)
  }
})

t.test(
  'a JSON error body takes precedence over the status, with names in any letter case',
  async (t) => {
    const cases: [string, string][] = [
      [complete('400 Bad', '{"Id":"a","Code":400,"Detail":"b","Status":"c"}'), 'fail 400 a: b'],
      [complete('599 x', '{"ID":"a","CODE":599,"DETAIL":"b"}'), 'fail 599 a: b'],
      [complete('500 x', '{"id":"","code":418}'), 'fail 418 helloworld: '],
      [
        `${head('503 x', CHUNKED)}${chunk('{"code":503,"detail":"')}${chunk('grün"}')}0\r\n\r\n`,
        'fail 503 helloworld: grün',
      ],
    ]
    for (const [reply, event] of cases)
      t.strictSame((await callWithResponse(t, reply)).events, [event])
  },
)

t.test('the metadata of an error is in its JSON, otherwise in the response headers', async (t) => {
  const json = '{"Code":503,"Metadata":"retry-after: 7\\r\\n"}'
  const fields = ['Retry-After: 9', 'X-Name: gr\u00fcn', 'Content-Type: text/html', 'Date: now']
  const cases: [string, string[] | undefined][] = [
    [complete('503 x', json, ...fields), ['retry-after', '7']],
    [complete('503 x', '{"Code":503}', ...fields), ['retry-after', '9', 'x-name', 'gr\u00fcn']],
    [complete('503 x', 'busy', ...fields), ['retry-after', '9', 'x-name', 'gr\u00fcn']],
    [complete('503 x', '{"Code":503,"Metadata":"Wrong"}'), undefined],
    [complete('503 x', 'busy'), undefined],
  ]
  for (const [reply, headers] of cases) {
    const { error } = await callWithResponse(t, Buffer.from(reply, 'latin1'))
    t.equal(error?.code, 503)
    t.strictSame(error?.headers, headers)
    t.equal(error?.repeatable, true)
  }
  const once = complete('500 x', '{"Code":500,"Repeat":false}', 'X-A: 1')
  t.match((await callWithResponse(t, once)).error, {
    code: 500,
    repeatable: false,
    headers: ['x-a', '1'],
  })
})

t.test('an error without a JSON error body has the status as its code', async (t) => {
  const long = JSON.stringify({ Id: 'a', Code: 500, Detail: 'x'.repeat(65_536) })
  const cases: [string, string][] = [
    [complete('404 Nothing Here', ''), 'fail 404 helloworld: Not Found'],
    [complete('404 x', '<html>', 'Content-Type: text/html'), 'fail 404 helloworld: Not Found'],
    [complete('500 x', '{"Id":"a","Detail":"b"}'), 'fail 500 helloworld: Internal Server Error'],
    [complete('500 x', '{"Code":200}'), 'fail 500 helloworld: Internal Server Error'],
    [complete('500 x', 'null'), 'fail 500 helloworld: Internal Server Error'],
    [complete('502 x', long), 'fail 502 helloworld: Bad Gateway'],
    [complete('599 x', ''), 'fail 599 helloworld: '],
    [complete('404 x', '', LINES), 'fail 404 helloworld: Not Found'],
  ]
  for (const [reply, event] of cases)
    t.strictSame((await callWithResponse(t, reply)).events, [event])
})

t.test('other statuses and malformed HTTP fail with 502', async (t) => {
  const malformed = 'fail 502 helloworld: bad gateway: malformed response from helloworld'
  const replies = [
    complete('201 Created', 'a'),
    complete('206 Partial', 'a'),
    complete('302 Found', '', 'Location: /'),
    head('304 Not Modified'),
    head('101 Switching Protocols', 'Upgrade: websocket'),
    'nonsense',
    'HTTP/1.1 200\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na',
    `${head('200 OK', CHUNKED)}zz\r\n`,
    'HTTP/1.1 200 OK\r\nX-A: \0\r\n\r\n',
    'HTTP/1.1 600 Odd\r\n\r\n',
    head('200 OK', `Content-Length: ${MAX_BYTES + 1}`),
    lines('{"a":1}\n{"b":'),
    complete('200 OK', '', ...Array.from({ length: 12_000 }, () => 'a:b')),
  ]
  for (const reply of replies) {
    const call = await callWithResponse(t, reply, { stream: true })
    t.equal(call.events.at(-1), malformed, JSON.stringify(reply.slice(0, 80)))
    t.equal(typeof call.error?.cause, 'string')
  }
})

t.test('a response over 16 MiB fails with 502', async (t) => {
  const body = Buffer.alloc(MAX_BYTES, 'x')
  const sizes: [number, boolean][] = [
    [MAX_BYTES, false],
    [MAX_BYTES, true],
    [MAX_BYTES + 1, false],
    [MAX_BYTES + 1, true],
  ]
  const { port } = await openService(t, (request, response) => {
    const [size, chunked] = sizes[Number(request.headers['mx-endpoint'])]!
    if (!chunked) response.setHeader('content-length', size)
    response.write(body)
    response.end('y'.repeat(size - MAX_BYTES))
  })
  const { caller } = openCaller(t, port)
  for (const [i, [size]] of sizes.entries()) {
    const call = new RecordedCall({ endpoint: String(i) })
    let received = 0
    call.onReply = (_metadata, reply) => {
      received = reply.length
      call.events.push('reply')
    }
    caller.call(call)
    await waitForEnd(call)
    t.equal(received, size > MAX_BYTES ? 0 : size)
    t.equal(call.error?.code, size > MAX_BYTES ? 502 : undefined)
  }
})

t.test('a stream is split into lines at any chunk size, and empty lines are skipped', async (t) => {
  const start = 'start ""'
  const cases: [string, string[]][] = [
    [lines('1\n2\n3\n'), [start, 'data 1', 'data 2', 'data 3', 'end']],
    [
      lines('1', '\n', '2\r\n\n\r\n', '33', '33\n'),
      [start, 'data 1', 'data 2', 'data 3333', 'end'],
    ],
    [lines(), [start, 'end']],
    [complete('200 OK', '1\n2\n', LINES), [start, 'data 1', 'data 2', 'end']],
    [complete('200 OK', '', LINES), [start, 'end']],
    [
      complete('200 OK', '1\n', 'Content-Type: Application/X-NDJSON; charset=utf-8', 'X-A: 1'),
      ['start "x-a: 1\\r\\n"', 'data 1', 'end'],
    ],
    [
      complete('200 OK', '1\n', 'Content-Type: application/x-ndjson2'),
      ['reply "content-type: application/x-ndjson2\\r\\n" 1\n'],
    ],
  ]
  for (const [reply, events] of cases) {
    t.strictSame((await callWithResponse(t, reply, { stream: true })).events, events)
  }
  const old = `HTTP/1.0 200 OK\r\n${LINES}\r\n\r\n1\n2\n`
  t.strictSame((await callWithResponse(t, old, { stream: true, close: true })).events, [
    start,
    'data 1',
    'data 2',
    'end',
  ])
})

t.test(
  'a random response ends the call once, with the same events at any chunk size',
  async (t) => {
    let pieces: Buffer[] = []
    const backend = await openRawBackend(t, {
      onRequest: async (connection) => {
        for (const piece of pieces) {
          connection.send(piece)
          await tick()
        }
      },
    })
    const { caller } = openCaller(t, backend.port)
    const candidates = [
      '{"error":{"Code":500}}',
      '{"error":',
      '\n',
      '\r\n',
      '\r',
      '1',
      ' ',
      '\0',
      '\xff',
      '}',
    ]
    const bodies = fc.array(fc.constantFrom(...candidates), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(
        bodies,
        fc.infiniteStream(fc.integer({ min: 1, max: 40 })),
        async (list, cutPoints) => {
          const body = Buffer.from(list.join(''), 'latin1')
          const reply = Buffer.concat([
            Buffer.from(head('200 OK', LINES, `Content-Length: ${body.length}`)),
            body,
          ])
          pieces = [reply]
          const expected = [...(await waitForEnd(send(caller, { stream: true })))]
          pieces = []
          for (let at = 0; at < reply.length; ) {
            const size = cutPoints.next().value as number
            pieces.push(reply.subarray(at, at + size))
            at += size
          }
          const call = send(caller, { stream: true })
          t.strictSame(await waitForEnd(call), expected)
          t.equal(call.events.filter((event) => /^(end|fail|lost|reply)/.test(event)).length, 1)
        },
      ),
      { numRuns: scaleRuns(100) },
    )
  },
)

t.test('lines are delivered as they arrive', async (t) => {
  const backend = await openRawBackend(t)
  const { caller } = openCaller(t, backend.port)
  const call = send(caller, { stream: true })
  const connection = await backend.connection()
  await connection.request()
  connection.send(head('200 OK', LINES, CHUNKED))
  await waitUntil(() => call.events.length === 1)
  for (let i = 0; i < 3; i++) {
    connection.send(chunk(`${i}\n`))
    await waitUntil(() => call.events.length === i + 2)
    t.equal(call.events.at(-1), `data ${i}`)
  }
  t.equal(caller.pending, 1)
  connection.send('0\r\n\r\n')
  t.equal((await waitForEnd(call)).at(-1), 'end')
  send(caller)
  await connection.request(2)
  t.equal(backend.connections.length, 1, 'the connection is reused')
})

t.test('a stream fails with an error line only if it is the last line', async (t) => {
  const error = '{"error":{"Id":"a","Code":409,"Detail":"b","Status":"Conflict"}}'
  const cases: [string, string[]][] = [
    [`1\n${error}\n`, ['data 1', 'fail 409 a: b']],
    [`${error}\n`, ['fail 409 a: b']],
    [`${error}\n\r\n\n`, ['fail 409 a: b']],
    [' { "error" : {"code":500} } \n', ['fail 500 helloworld: ']],
    // Lines that only resemble an error are bodies.
    [`${error}\n1\n`, [`data ${error}`, 'data 1', 'end']],
    [`${error}\n${error}\n`, [`data ${error}`, 'fail 409 a: b']],
    ['{"error":null}\n', ['data {"error":null}', 'end']],
    ['{"error":{"Code":200}}\n', ['data {"error":{"Code":200}}', 'end']],
    ['{"error":{"Code":500},"a":1}\n', ['data {"error":{"Code":500},"a":1}', 'end']],
    ['{"error":{"Code":500}\n', ['data {"error":{"Code":500}', 'end']],
    [
      `{"error":{"Code":500,"Detail":"${'x'.repeat(66_000)}"}}\n`,
      [`data {"error":{"Code":500,"Detail":"${'x'.repeat(66_000)}"}}`, 'end'],
    ],
    ['{"errors":{"Code":500}}\n', ['data {"errors":{"Code":500}}', 'end']],
  ]
  for (const [text, events] of cases) {
    const call = await callWithResponse(t, lines(text), { stream: true })
    t.strictSame(call.events.slice(1), events, text)
  }
  const cut = `${head('200 OK', LINES, CHUNKED)}${chunk(`1\n${error}\n`)}`
  const call = await callWithResponse(t, cut, { stream: true, close: true })
  t.strictSame(
    call.events.slice(1),
    ['data 1', 'fail 409 a: b'],
    'even without the end of the stream',
  )
})

t.test('a stream whose connection closes early is reported as lost', async (t) => {
  const cut = `${head('200 OK', LINES, CHUNKED)}${chunk('1\n2')}`
  const call = await callWithResponse(t, cut, { stream: true, close: true })
  t.strictSame(call.events.slice(1), ['data 1', 'lost closed'])
})

t.test('a stream in response to a unary call fails with 400', async (t) => {
  for (const reply of [lines('1\n'), complete('200 OK', '1\n', LINES)]) {
    t.strictSame((await callWithResponse(t, reply)).events, [
      'fail 400 helloworld: Helloworld.Call responds with a stream: request its path over HTTP, or use `client.stream()`',
    ])
  }
})

t.test('a line over 16 MiB fails with 502', async (t) => {
  for (const tail of ['\n', 'x\n', 'xx\n']) {
    const { port } = await openService(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' })
      response.write(Buffer.alloc(MAX_BYTES - 1, 'x'), () => response.end(tail))
    })
    const { caller } = openCaller(t, port)
    const call = new RecordedCall({ stream: true })
    let received = 0
    call.onData = (body) => {
      received = body.length
      call.consumed(body.length)
    }
    caller.call(call)
    await waitForEnd(call)
    const size = MAX_BYTES - 2 + tail.length
    t.equal(received, size > MAX_BYTES ? 0 : size)
    t.equal(call.events.at(-1)?.slice(0, 8), size > MAX_BYTES ? 'fail 502' : 'end')
  }
  // A line without an end fails before it is complete.
  const { port } = await openService(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.write(Buffer.alloc(MAX_BYTES + 200_000, 'x'))
  })
  const call = send(openCaller(t, port).caller, { stream: true })
  t.match((await waitForEnd(call)).at(-1), /^fail 502 /)
})

t.test('a slow reader slows the service and buffers at most the window', async (t) => {
  const line = `${'x'.repeat(999)}\n`
  const count = 20_000
  let written = 0
  const { port } = await openService(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    const write = () => {
      while (written < count) {
        written++
        if (!response.write(line)) return response.once('drain', write)
      }
      return response.end()
    }
    write()
  })
  const { caller } = openCaller(t, port)
  const call = new RecordedCall({ stream: true })
  let pendingBytes = 0
  let received = 0
  let maximum = 0
  call.onData = (body) => {
    received++
    pendingBytes += body.length
    maximum = Math.max(maximum, pendingBytes)
  }
  caller.call(call)
  await waitUntil(() => received === 263)
  let before = 0
  while (before < written) {
    before = written
    for (let i = 0; i < 100; i++) await tick()
  }
  t.ok(written < count, `the service stopped after ${written} lines`)
  t.equal(received, 263, 'the window plus one line')
  while (!hasEnded(call)) {
    pendingBytes -= 999
    call.consumed(999)
    await tick()
  }
  t.equal(received, count)
  t.equal(call.events.at(-1), 'end')
  t.ok(maximum <= 262_144 + 999, `${maximum} bytes at most`)
})

t.test('short lines count as 64 bytes, and the end of a stream needs no window', async (t) => {
  const reply = complete('200 OK', '1\n'.repeat(4097), LINES)
  const backend = await openRawBackend(t, { onRequest: (connection) => connection.send(reply) })
  const { caller } = openCaller(t, backend.port)
  const call = send(caller, { stream: true })
  await waitUntil(() => call.events.length === 4097)
  await tick()
  t.equal(call.events.length, 4097, 'start and 4096 bodies')
  call.consumed(1)
  t.strictSame(call.events.slice(4097), ['data 1', 'end'])
})

t.test('a program can consume or cancel within a data event', async (t) => {
  const replies = [lines('1\n2\n', '3\n'), complete('200 OK', '1\n2\n3\n', LINES)]
  for (const reply of replies) {
    const backend = await openRawBackend(t, { onRequest: (connection) => connection.send(reply) })
    const { caller } = openCaller(t, backend.port)
    const fastReader = new RecordedCall({ stream: true })
    let depth = 0
    fastReader.onEvent = () => {
      t.equal(++depth, 1, 'no nested events')
      fastReader.consumed(1_000_000)
      depth--
    }
    caller.call(fastReader)
    t.strictSame(await waitForEnd(fastReader), ['start ""', 'data 1', 'data 2', 'data 3', 'end'])
    for (const last of ['start', 'data 1', 'data 2', 'data 3']) {
      const cancelledCall = new RecordedCall({ stream: true })
      cancelledCall.onEvent = (event) => {
        if (event.startsWith(last)) cancelledCall.cancel()
      }
      caller.call(cancelledCall)
      await waitUntil(() => caller.pending === 0)
      await tick()
      t.ok(cancelledCall.events.at(-1)!.startsWith(last))
    }
    if (reply === replies[1])
      t.equal(backend.connections.length, 1, 'after a complete response, the connection stays open')
  }
})

t.test('consuming more than was received does not enlarge the window', async (t) => {
  const reply = complete('200 OK', '1\n'.repeat(4200), LINES)
  const backend = await openRawBackend(t, { onRequest: (connection) => connection.send(reply) })
  const { caller } = openCaller(t, backend.port)
  const call = new RecordedCall({ stream: true })
  call.onStart = () => call.consumed(10_000_000)
  caller.call(call)
  await waitUntil(() => call.events.length === 4096)
  for (let i = 0; i < 10; i++) await tick()
  t.equal(call.events.length, 4096)
})

t.test('cancelling closes the connection and delivers no further events', async (t) => {
  const backend = await openRawBackend(t)
  const { caller } = openCaller(t, backend.port)
  const call = send(caller, { timeoutMs: 1000 })
  const connection = await backend.connection()
  await connection.request()
  call.cancel()
  await connection.ended()
  t.strictSame(call.events, [])
  t.equal(caller.pending, 0)
  t.equal(deadlines.size, 0)
  const waiting = send(caller)
  waiting.cancel()
  t.equal(caller.pending, 0)
  t.strictSame(waiting.events, [])
})

t.test('a call times out while it is pending or queued', async (t) => {
  const backend = await openRawBackend(t)
  const { caller } = openCaller(t, backend.port, { maxConnections: 1 })
  const call = send(caller, { timeoutMs: 30 })
  const waiting = send(caller, { timeoutMs: 30 })
  t.equal(caller.pending, 2)
  await waitForEnd(call)
  await waitForEnd(waiting)
  for (const { lost, events } of [call, waiting]) {
    t.strictSame(lost, { kind: 'timeout', detail: 'no response within 30 ms' })
    t.equal(events.length, 1)
  }
  await (await backend.connection()).ended()
  t.equal(caller.pending, 0)
})

t.test('the sent timeout is the time left after queueing', async (t) => {
  const backend = await openRawBackend(t)
  const { caller } = openCaller(t, backend.port, { maxConnections: 1 })
  send(caller)
  const connection = await backend.connection()
  await connection.request()
  send(caller, { timeoutMs: 5000 })
  const startMs = performance.now()
  await waitUntil(() => performance.now() - startMs > 100)
  connection.reply('ok')
  await connection.request(2)
  const remaining = Number(/mx-timeout: (\d+)\r\n/.exec(connection.text)![1])
  t.ok(remaining > 0 && remaining <= 4900, `${remaining} ms`)
})

t.test('connection failures, a full pool and timeouts are distinguished by kind', async (t) => {
  const closed = await openRawBackend(t)
  closed.close()
  const rejected = send(openCaller(t, closed.port).caller)
  await waitForEnd(rejected)
  t.equal(rejected.lost?.kind, 'connect')

  const backend = await openRawBackend(t)
  const { caller, pool } = openCaller(t, backend.port, { maxConnections: 1, maxWaiting: 0 })
  const first = send(caller)
  const full = send(caller)
  t.equal(full.lost?.kind, 'full')
  const connection = await backend.connection()
  await connection.request()
  connection.socket.destroy()
  await waitForEnd(first)
  t.equal(first.lost?.kind, 'closed')

  // The timeout of the call applies, not the timeout of the pool.
  const silent = send(caller)
  const second = await backend.connection(1)
  await second.request()
  clock.nowMs = performance.now() + 1000 * SECOND
  pool.sweep()
  clock.nowMs = performance.now()
  t.strictSame(silent.events, [])
  second.reply('1')
  await waitForEnd(silent)
  const late = send(caller, { timeoutMs: 50 })
  await waitForEnd(late)
  t.equal(late.lost?.kind, 'timeout')

  const half = send(caller)
  const third = await backend.connection(2)
  await third.request()
  third.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf').socket.end()
  await waitForEnd(half)
  t.equal(half.lost?.kind, 'closed')
  t.equal(caller.pending, 0)
})

t.test(
  'a keep-alive connection that closes before the request is written is replaced',
  async (t) => {
    for (const body of ['', '{}']) {
      const backend = await openRawBackend(t)
      const { caller } = openCaller(t, backend.port)
      const first = send(caller, { body: '' })
      const keepAlive = await backend.connection()
      await keepAlive.request()
      keepAlive.reply('1')
      await waitForEnd(first)
      await tick()
      keepAlive.socket.destroy()
      const call = send(caller, { body })
      const next = await backend.connection(1)
      await next.request()
      next.reply('2')
      t.strictSame(await waitForEnd(call), ['reply "" 2'])
      t.match(next.text, `content-length: ${body.length}\r\n\r\n${body}`)
    }
  },
)

t.test('a drained caller rejects new calls and completes calls in flight', async (t) => {
  const backend = await openRawBackend(t)
  const { caller, pool } = openCaller(t, backend.port, { maxConnections: 1 })
  const first = send(caller)
  const second = send(caller)
  const connection = await backend.connection()
  await connection.request()
  caller.drain()
  const late = send(caller)
  t.strictSame(late.events, ['lost unsent'])
  t.equal(late.carrier, undefined)
  connection.reply('1')
  await connection.request(2)
  connection.reply('2')
  t.strictSame(await waitForEnd(first), ['reply "" 1'])
  t.strictSame(await waitForEnd(second), ['reply "" 2'])
  await connection.ended()
  t.equal(pool.size, 0)
  t.equal(caller.pending, 0)
})

t.test('a closed caller reports its calls as lost, and unsent calls as unsent', async (t) => {
  const backend = await openRawBackend(t)
  const { caller, pool } = openCaller(t, backend.port, { maxConnections: 1 })
  const sent = send(caller)
  const waiting = send(caller)
  const connection = await backend.connection()
  await connection.request()
  caller.close()
  t.strictSame(sent.events, ['lost closed'])
  t.strictSame(waiting.events, ['lost unsent'])
  t.equal(caller.pending, 0)
  await connection.ended()
  t.equal(pool.size, 0)
})

t.test('an IPv6 address is in brackets in the Host header', async (t) => {
  const backend = await openRawBackend(t)
  const pool = openCaller(t, backend.port).pool
  send(new PlainCaller(pool, { host: '::1', port: 80 }))
  const connection = await backend.connection()
  await connection.request()
  t.match(connection.text, '\r\nhost: [::1]:80\r\n')
})
