import { once } from 'node:events'
import { type IncomingMessage, type RequestOptions, request } from 'node:http'
import t, { type Test } from 'tap'
import { GatewayError } from '../../../../core/errors.ts'
import { createNodeListener } from '../../../../core/listener/node/listener.ts'
import { createUwsListener } from '../../../../core/listener/uws/listener.ts'
import type { Dispatch, IncomingCall } from '../../../../core/rpc/call.ts'
import { deadlines } from '../../../../core/rpc/deadlines.ts'
import { servePlain } from '../../../../core/rpc/http/server.ts'
import { tick, waitUntil } from '../../../fixtures/raw-backend.ts'
import { RawClient, splitReplies, statusCodes } from '../../../fixtures/raw-client.ts'
import { createTracker } from '../../../fixtures/rpc.ts'

const LISTENERS = { uws: createUwsListener, node: createNodeListener }
type Name = keyof typeof LISTENERS
const MAX_BYTES = 16 * 1024 * 1024

/** Opens a service over HTTP that handles calls with `dispatch`. */
async function open(t: Test, name: Name, dispatch: Dispatch) {
  const listener = await LISTENERS[name]({
    host: '127.0.0.1',
    port: 0,
    internalHeaders: true,
    handle: (x) => servePlain(x, dispatch, { id: 'greeter' }),
  })
  t.teardown(() => listener.close())
  const { port } = listener
  return {
    port,
    sendRequest: (body: string | Buffer = '{}', options: RequestOptions = {}) =>
      sendRequest(port, body, options),
    connect: () => {
      const client = new RawClient(port)
      t.teardown(() => client.destroy())
      return client
    },
  }
}

const NAMES = { 'mx-service': 'helloworld', 'mx-endpoint': 'Helloworld.Call' }

async function sendRequest(port: number, body: string | Buffer, options: RequestOptions) {
  const headers = { ...NAMES, ...(options.headers as object) }
  const req = request({
    host: '127.0.0.1',
    port,
    method: 'POST',
    agent: false,
    ...options,
    headers,
  })
  req.end(body)
  const [response] = (await once(req, 'response')) as [IncomingMessage]
  response.setEncoding('utf8')
  let text = ''
  for await (const chunk of response) text += chunk
  return { status: response.statusCode!, headers: response.headers, body: text }
}

function toRequest(body: string, ...fields: string[]): string {
  const lines = [
    'POST / HTTP/1.1',
    'Host: a.test',
    'Mx-Service: helloworld',
    'Mx-Endpoint: Helloworld.Call',
    ...fields,
    `Content-Length: ${body.length}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

const echo: Dispatch = (call) => call.reply('', call.body)

for (const name of Object.keys(LISTENERS) as Name[]) {
  t.test(`${name}: POST / is a call with a 200 response`, async (t) => {
    let received: Partial<IncomingCall> = {}
    const { sendRequest } = await open(t, name, (call) => {
      const { service, endpoint, metadata, timeoutMs, stream, more } = call
      received = { service, endpoint, metadata, timeoutMs, stream, more }
      call.reply('x-reply: 1\r\nx-reply: 2\r\n', `{"got":${Buffer.from(call.body)}}`)
    })
    const { status, headers, body } = await sendRequest('{"name":"John"}', {
      headers: {
        'Content-Type': 'application/json; charset=utf-8',
        'Mx-Account': '{"id":"1"}',
        'Mx-Namespace': 'go.shop',
        'X-A': ['1', '2'],
      },
    })
    t.equal(status, 200)
    t.equal(body, '{"got":{"name":"John"}}')
    t.equal(headers['content-type'], 'application/json')
    t.equal(headers['x-reply'], '1, 2')
    t.strictSame(received, {
      service: 'helloworld',
      endpoint: 'Helloworld.Call',
      metadata:
        'content-type: application/json; charset=utf-8\r\nmx-account: {"id":"1"}\r\nmx-namespace: go.shop\r\nx-a: 1\r\nx-a: 2\r\n',
      timeoutMs: 0,
      stream: true,
      more: false,
    })
  })

  t.test(
    `${name}: metadata of a reply becomes response headers, except framing headers`,
    async (t) => {
      const metadata = [
        'content-type: application/protobuf',
        'x-b: gr\xfcn',
        'content-length: 1',
        'transfer-encoding: chunked',
        'connection: x-b',
        'date: never',
      ]
      const { sendRequest } = await open(t, name, (call) => {
        call.reply(`${metadata.join('\r\n')}\r\n`, Buffer.from('abc'))
      })
      const { status, headers, body } = await sendRequest()
      t.equal(status, 200)
      t.equal(body, 'abc')
      t.equal(headers['content-type'], 'application/protobuf')
      t.equal(headers['content-length'], '3')
      t.equal(headers['transfer-encoding'], undefined)
      t.equal(headers['x-b'], 'gr\xfcn')
      t.not(headers.date, 'never')
    },
  )

  t.test(`${name}: an empty reply is sent as 204 with its metadata`, async (t) => {
    const { connect } = await open(t, name, (call) => {
      call.reply('content-type: application/protobuf\r\nx-a: 1\r\n', '')
    })
    const client = connect().send(toRequest('') + toRequest('{}'))
    const replies = await client.replies(2)
    for (const reply of replies) {
      t.match(reply, /^HTTP\/1\.1 204 No Content\r\n/)
      t.match(reply, /\r\nx-a: 1\r\n/i)
      t.match(reply, /\r\ncontent-type: application\/protobuf\r\n/i)
    }
    t.notOk(client.closed, 'the connection stays open')
  })

  t.test(`${name}: bodies are read with a length, chunked, byte by byte and empty`, async (t) => {
    const { connect } = await open(t, name, (call) => call.reply('', `<${Buffer.from(call.body)}>`))
    const client = connect()
    const getBody = async (index: number) =>
      (await client.replies(index)).at(-1)!.split('\r\n\r\n')[1]
    client.send(toRequest('abc'))
    t.equal(await getBody(1), '<abc>')
    for (const byte of toRequest('byte by byte')) {
      client.send(byte)
      await tick()
    }
    t.equal(await getBody(2), '<byte by byte>')
    client.send(toRequest(''))
    t.equal(await getBody(3), '<>')
    const names = 'Mx-Service: a\r\nMx-Endpoint: B.C\r\n'
    const head = `POST / HTTP/1.1\r\nHost: a\r\n${names}Transfer-Encoding: chunked\r\n\r\n`
    client.send(`${head}1\r\na\r\n`)
    await tick()
    client.send('3\r\nbcd\r\n0\r\n\r\n')
    t.match(await getBody(4), '<abcd>')
    const other = connect().send(`${head}0\r\n\r\n`)
    t.match((await other.replies(1))[0], '\r\n\r\n<>')
    const expecting = connect().send(toRequest('', 'Expect: 100-continue').replace(': 0', ': 2'))
    await expecting.waitUntil(({ text }) => text.includes('HTTP/1.1 100 Continue\r\n'))
    expecting.send('ok')
    await expecting.waitUntil(({ text }) => text.endsWith('<ok>'))
  })

  t.test(
    `${name}: a GatewayError of the dispatcher is sent as the response, and other errors as 500`,
    async (t) => {
      let thrown: unknown
      const { sendRequest } = await open(t, name, () => {
        throw thrown
      })
      thrown = new GatewayError('shop.cart', 409, 'gone')
      t.match(await sendRequest(), {
        status: 409,
        body: '{"Id":"shop.cart","Code":409,"Detail":"gone","Status":"Conflict"}',
      })
      thrown = new Error('secret')
      t.match(await sendRequest(), {
        status: 500,
        body: '{"Id":"helloworld","Code":500,"Detail":"internal error","Status":"Internal Server Error"}',
      })
    },
  )

  t.test(`${name}: metadata of an error becomes response headers`, async (t) => {
    const fields = ['Retry-After', '7', 'X-Name', 'gr\xfcn', 'Content-Type', 'text/html']
    const headers = [...fields, 'content-length', '1', 'connection', 'x', 'transfer-encoding', 'x']
    const error = new GatewayError('a', 429, 'slow', { headers, repeatable: false })
    const { sendRequest } = await open(t, name, (call) => call.fail(error))
    const response = await sendRequest()
    t.equal(response.status, 429)
    t.equal(response.headers['retry-after'], '7')
    t.equal(response.headers['x-name'], 'gr\xfcn')
    t.equal(response.headers['content-type'], 'application/json')
    t.match(JSON.parse(response.body), { Code: 429, Repeat: false })
    t.match(JSON.parse(response.body).Metadata, /^retry-after: 7\r\nx-name: gr\xfcn\r\n/)
  })

  t.test(`${name}: an error is JSON with its status, regardless of Accept`, async (t) => {
    let error = new GatewayError('a', 404, 'no grün', { headers: ['x-a', '1\r\n2'] })
    const { sendRequest } = await open(t, name, (call) => call.fail(error))
    const headers = { Accept: 'application/problem+json' }
    const response = await sendRequest('{}', { headers })
    t.equal(response.status, 404)
    t.equal(response.headers['content-type'], 'application/json')
    t.equal(response.body, '{"Id":"a","Code":404,"Detail":"no grün","Status":"Not Found"}')
    error = new GatewayError('a', 200, 'no error')
    t.match(
      await sendRequest(),
      { status: 500, body: /"Code":500/ },
      'a code that is not an error status',
    )
    error = new GatewayError('a', 400, 'x'.repeat(100_000))
    const { status, body } = await sendRequest()
    t.equal(status, 400)
    t.ok(body.length < 65_536)
  })

  t.test(
    `${name}: a wrong path, method or header is rejected, and the error names it`,
    async (t) => {
      const { dispatch, calls } = createTracker()
      const { sendRequest } = await open(t, name, dispatch)
      const cases: [RequestOptions, number, string][] = [
        [{ path: '/a' }, 404, 'calls must be sent to the path /'],
        [{ method: 'GET' }, 405, 'calls must use POST, got GET'],
        [{ method: 'PUT' }, 405, 'calls must use POST, got PUT'],
        [
          { headers: { 'mx-service': '' } },
          400,
          'service name is blank: the Mx-Service header is missing',
        ],
        [{ headers: { 'mx-endpoint': '' } }, 400, 'the Mx-Endpoint header is missing'],
        ...['0', '-1', '1.5', '1e3', '10 ms', '0x10', '010'].map(
          (value): [RequestOptions, number, string] => [
            { headers: { 'mx-timeout': value } },
            400,
            'Mx-Timeout must be a positive integer',
          ],
        ),
        [
          { headers: { 'content-length': MAX_BYTES + 1 } },
          413,
          `request must be at most ${MAX_BYTES} bytes`,
        ],
      ]
      for (const [options, code, detail] of cases) {
        const { status, headers, body } = await sendRequest('', options)
        const title = JSON.stringify(options)
        t.equal(status, code, title)
        t.equal(headers['content-type'], 'application/json', title)
        t.equal(headers.allow, code === 405 ? 'POST' : undefined, title)
        const isNamed =
          (options.headers as undefined | Record<string, string>)?.['mx-service'] !== ''
        t.match(JSON.parse(body), {
          Id: isNamed ? 'helloworld' : 'greeter',
          Code: code,
          Detail: detail,
        })
      }
      t.strictSame(calls, [])
    },
  )

  t.test(`${name}: rejects a malformed request with 400 and closes the connection`, async (t) => {
    const { dispatch, calls } = createTracker()
    const { connect } = await open(t, name, dispatch)
    const invalidRequest = toRequest('').replace('POST /', 'POST /%00')
    const { text } = await connect().send(invalidRequest).ended()
    t.match(text, /^HTTP\/1\.1 400 /)
    t.match(text, '"Detail":"the path must not contain %00, %5C or a malformed escape"')
    t.strictSame(calls, [])
  })

  t.test(`${name}: rejects a chunked body over 16 MiB with 413`, async (t) => {
    const { dispatch, calls } = createTracker()
    const { connect } = await open(t, name, dispatch)
    const client = connect()
    client.socket.on('error', () => {})
    const [head] = toRequest('', 'Transfer-Encoding: chunked').split('Content-Length')
    client.send(`${head}\r\n`)
    const piece = Buffer.alloc(1024 * 1024, 'x')
    for (let i = 0; i < 17 && !client.closed; i++) {
      client.send('100000\r\n').send(piece).send('\r\n')
      await tick()
    }
    await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
    t.match(client.text, /^HTTP\/1\.1 413 /)
    t.strictSame(calls, [])
  })

  t.test(`${name}: a request and a response of 16 MiB are allowed`, async (t) => {
    const { sendRequest } = await open(t, name, echo)
    const body = Buffer.alloc(MAX_BYTES, 'x')
    const response = await sendRequest(body)
    t.equal(response.status, 200)
    t.ok(response.body === body.toString())
  })

  t.test(`${name}: a reply with malformed metadata or over 16 MiB fails with 500`, async (t) => {
    let reply: [string, string] = ['', '']
    const { sendRequest } = await open(t, name, (call) => call.reply(...reply))
    for (const metadata of [
      'x-a: 1\r\nx-b\r\n',
      'X-A: 1\r\n',
      'x: \0\r\n',
      `x: ${'a'.repeat(65_536)}\r\n`,
    ]) {
      reply = [metadata, 'body']
      t.match(await sendRequest(), {
        status: 500,
        body: /"Detail":"response metadata is malformed/,
      })
    }
    reply = ['', 'ü'.repeat(MAX_BYTES / 2 + 1)]
    t.match(await sendRequest(), {
      status: 500,
      body: /"Detail":"response must be at most 16777216 bytes"/,
    })
  })

  t.test(`${name}: a stream is sent line by line as x-ndjson`, async (t) => {
    const { dispatch, calls, events } = createTracker()
    const { connect } = await open(t, name, dispatch)
    const client = connect().send(toRequest('{}'))
    await waitUntil(() => calls.length === 1)
    const [call] = calls as [IncomingCall]
    call.start('x-a: 1\r\ncontent-type: application/json\r\nconnection: close\r\n')
    t.throws(() => call.start(''), { message: 'the stream has already started' })
    const bodies = ['{"a":1}', Buffer.from('{\n  "b": 2\n}'), '"grün"', '']
    const expected = ['{"a":1}', '{   "b": 2 }', Buffer.from('"grün"').toString('latin1')]
    for (const [i, body] of bodies.entries()) {
      t.ok(call.sendData(body))
      const line = expected[i]
      if (line !== undefined) await client.waitUntil(({ text }) => text.includes(`${line}\n`))
    }
    t.match(client.text, /^HTTP\/1\.1 200 OK\r\n/)
    t.match(client.text, /\r\nx-a: 1\r\n/i)
    t.match(client.text, /\r\ncontent-type: application\/x-ndjson\r\n/i)
    t.notMatch(client.text, /\r\nconnection: close\r\n/i)
    t.throws(() => call.reply('', 'a'), { message: 'end a stream with endData or fail' })
    t.throws(() => call.sendData(Buffer.alloc(MAX_BYTES + 1)), RangeError)
    call.endData()
    await client.waitUntil(({ text }) => text.endsWith('\r\n0\r\n\r\n'))
    t.ok(call.isSettled)
    t.ok(call.sendData('late'), 'discarded')
    t.equal(client.text.split('\n').filter((line) => /^[{"]/.test(line)).length, 3)
    t.strictSame(events, [[]])
    client.text = ''
    client.send(toRequest('{}'))
    await waitUntil(() => calls.length === 2)
    calls[1]!.endData()
    await client.waitUntil(({ text }) => text.endsWith('0\r\n\r\n'))
    t.match(client.text, /\r\ncontent-type: application\/x-ndjson\r\n/i, 'an empty stream')
  })

  t.test(
    `${name}: an error is the last line of a started stream, otherwise the status`,
    async (t) => {
      let bodies: string[] = []
      const { sendRequest } = await open(t, name, (call) => {
        for (const body of bodies) call.sendData(body)
        call.fail(new GatewayError('a', 409, 'gone'))
      })
      const json = '{"Id":"a","Code":409,"Detail":"gone","Status":"Conflict"}'
      t.match(await sendRequest(), { status: 409, body: json })
      bodies = ['1', '2']
      t.match(await sendRequest(), { status: 200, body: `1\n2\n{"error":${json}}\n` })
    },
  )

  t.test(
    `${name}: a stream that is not JSON fails with 400, malformed metadata with 500`,
    async (t) => {
      let metadata = 'content-type: application/protobuf\r\n'
      const { sendRequest } = await open(t, name, (call) => call.start(metadata))
      t.match(await sendRequest(), {
        status: 400,
        body: /"Detail":"streams of application\/protobuf require the WebSocket transport"/,
      })
      metadata = 'X-A: 1\r\n'
      t.match(await sendRequest(), { status: 500 })
    },
  )

  t.test(
    `${name}: a slow caller causes back-pressure, and credit follows when it reads`,
    async (t) => {
      const { dispatch, calls, events } = createTracker()
      const { connect } = await open(t, name, dispatch)
      const client = connect().send(toRequest('{}'))
      await waitUntil(() => calls.length === 1)
      client.socket.pause()
      const [call] = calls as [IncomingCall]
      const body = 'x'.repeat(64 * 1024)
      let sent = 0
      const send = async () => {
        while (call.sendData(body)) {
          sent++
          await tick()
        }
      }
      await send()
      t.ok(sent > 0 && sent < 1000, `${sent} bodies of 64 KiB accepted`)
      t.notOk(call.sendData(body))
      t.strictSame(events, [[]])
      client.socket.resume()
      await waitUntil(() => events[0]!.length === 1)
      t.strictSame(events, [['credit']])
      t.ok(call.sendData('"last"'))
      call.endData()
      await client.waitUntil(({ text }) => text.endsWith('\r\n0\r\n\r\n'))
      // A body may come in several chunks (RFC 9112 §7.1).
      const lines = client.text.replace(/\r\n[0-9a-f]+\r\n/g, '').split('\n')
      t.equal(lines.filter((line) => line === body).length, sent)
      t.ok(lines.includes('"last"'))
    },
  )

  t.test(`${name}: a client disconnect cancels the call`, async (t) => {
    const { dispatch, calls, events } = createTracker()
    const { connect } = await open(t, name, dispatch)
    const [pending, streaming, sending] = [connect(), connect(), connect()]
    pending.send(toRequest('{}', 'Mx-Timeout: 60000'))
    await waitUntil(() => calls.length === 1)
    streaming.send(toRequest('{}'))
    await waitUntil(() => calls.length === 2)
    calls[1]!.sendData('1')
    sending.send(toRequest('{}').slice(0, -1))
    for (const client of [pending, streaming, sending]) client.destroy()
    await waitUntil(() => events.every((reported) => reported.length === 1))
    t.strictSame(events, [['cancel cancel'], ['cancel cancel']])
    t.equal(deadlines.size, 0)
    for (const call of calls) {
      t.ok(call.isSettled)
      call.reply('', 'late')
      call.fail(new GatewayError('a', 500, 'late'))
      t.ok(call.sendData('late'))
      call.endData()
    }
  })

  t.test(`${name}: a completed call is not cancelled by a client disconnect`, async (t) => {
    const { dispatch, calls, events } = createTracker()
    const { connect } = await open(t, name, dispatch)
    const client = connect().send(toRequest('{}', 'Mx-Timeout: 300'))
    await waitUntil(() => calls.length === 1)
    t.ok(calls[0]!.timeoutMs > 0 && calls[0]!.timeoutMs <= 300)
    t.equal(calls[0]!.body.length, 0, 'the request body is freed')
    calls[0]!.reply('', 'ok')
    await client.replies(1)
    client.destroy()
    const startMs = performance.now()
    await waitUntil(() => performance.now() - startMs > 350)
    t.strictSame(events, [[]])
    t.equal(deadlines.size, 0)
  })

  t.test(`${name}: a call that exceeds Mx-Timeout fails with 408 and is cancelled`, async (t) => {
    const { dispatch, calls, events } = createTracker()
    const { connect } = await open(t, name, dispatch)
    const client = connect().send(toRequest('{}', 'Mx-Timeout: 30'))
    const [reply] = await client.replies(1)
    t.match(reply, /^HTTP\/1\.1 408 /)
    t.match(reply, '{"Id":"helloworld","Code":408,"Detail":"no response within 30 ms"')
    t.strictSame(events, [['cancel timeout']])
    const streaming = connect().send(toRequest('{}', 'Mx-Timeout: 30'))
    await waitUntil(() => calls.length === 2)
    calls[1]!.sendData('1')
    await streaming.waitUntil(({ text }) => text.endsWith('0\r\n\r\n'))
    t.match(streaming.text, /1\n.*\{"error":\{"Id":"helloworld","Code":408,.*\}\}\n/s)
    t.strictSame(events[1], ['cancel timeout'])
    const slow = connect().send(toRequest('{}', 'Mx-Timeout: 30').slice(0, -1))
    await slow.waitUntil(({ text }) => statusCodes(text).includes(408))
    t.equal(calls.length, 2, 'an incomplete request is not dispatched')
    t.equal(deadlines.size, 0)
  })

  t.test(`${name}: a timeout is limited to the maximum of the WebSocket transport`, async (t) => {
    const { dispatch, calls } = createTracker()
    const { connect } = await open(t, name, dispatch)
    const client = connect().send(toRequest('{}', `Mx-Timeout: ${'9'.repeat(100)}`))
    await waitUntil(() => calls.length === 1)
    const { timeoutMs } = calls[0]!
    // Reading the request took part of the timeout.
    t.ok(timeoutMs <= 0xffff_ffff && timeoutMs > 0xffff_ffff - 10_000, `${timeoutMs} ms`)
    calls[0]!.reply('', 'ok')
    t.equal(splitReplies((await client.replies(1))[0]!).length, 1)
  })
}
