import { once } from 'node:events'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { replyMemory } from '../../../../core/limits/memory-budget.ts'
import { LISTENERS } from '../../../fixtures/gateway.ts'
import { createGreeter } from '../../../fixtures/greeter.ts'
import { openGreeterGateway } from '../../../fixtures/greeter-gateway.ts'
import { FORMS, openMxService } from '../../../fixtures/mx-service.ts'
import { tick, waitUntil } from '../../../fixtures/raw-backend.ts'
import { openRpcGateway, type RpcGateway } from '../../../fixtures/rpc-gateway.ts'
import { settled } from '../../../fixtures/streams.ts'
import { rejectedWebSocket } from '../../../fixtures/web-gateway.ts'

/** Maximum number of 1 KiB messages in socket buffers between a service and a client that does not read. */
const BUFFERED_MAX = 40_000

/** A WebSocket that records its messages: text unchanged, bytes as `0:` and Base64. */
interface Client {
  readonly socket: WebSocket
  readonly messages: string[]
  /** Resolves with code and reason. */
  readonly closed: Promise<string>
  readonly send: (value: unknown) => void
}

async function connect(
  t: Test,
  { port }: RpcGateway,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Client> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/greeter/${path}`, {
    headers,
    perMessageDeflate: false,
  })
  t.teardown(() => socket.terminate())
  const messages: string[] = []
  socket.on('message', (data: Buffer, binary) => {
    messages.push(binary ? `0:${data.toString('base64')}` : data.toString())
  })
  const closed = new Promise<string>((resolve) => {
    socket.on('close', (code, reason) => resolve(`${code} ${reason}`.trim()))
  })
  await once(socket, 'open')
  socket.on('error', () => {})
  return { socket, messages, closed, send: (value) => socket.send(JSON.stringify(value)) }
}

for (const [name, listener] of Object.entries(LISTENERS)) {
  for (const protocol of FORMS) {
    t.test(
      `${name}, ${protocol}: sends the first message as the request and each result as a message`,
      async (t) => {
        const { gateway } = await openGreeterGateway(t, { listener }, { protocol })
        const unary = await connect(t, gateway, 'hello')
        unary.send({ name: 'Jörg' })
        t.equal(await unary.closed, '1000')
        t.same(unary.messages, ['{"message":"Hello Jörg"}'])
        const stream = await connect(t, gateway, 'count')
        stream.send({ to: 3 })
        t.equal(await stream.closed, '1000')
        t.same(stream.messages, ['{"n":1}', '{"n":2}', '{"n":3}'])
      },
    )

    t.test(
      `${name}, ${protocol}: sends a large result completely, or 503 without memory`,
      async (t) => {
        const { gateway } = await openGreeterGateway(
          t,
          { listener, flags: ['--max_message=16mb'] },
          { protocol },
        )
        const long = 'x'.repeat(12 * 1024 * 1024)
        const slow = await connect(t, gateway, 'hello')
        slow.socket.pause()
        slow.send({ name: long })
        let variant: string | undefined
        void slow.closed.then((output) => {
          variant = output
        })
        // The result is buffered first in the service, then in the gateway.
        await waitUntil(() => replyMemory.usedBytes > 1024 * 1024 || variant !== undefined)
        t.equal(variant, undefined)
        for (let i = 0; i < 3; i++) await settled(() => replyMemory.usedBytes)
        t.ok(replyMemory.usedBytes > 1024 * 1024)
        const { maxBytes } = replyMemory
        replyMemory.maxBytes = 1000
        t.teardown(() => {
          replyMemory.maxBytes = maxBytes
        })
        const other = await connect(t, gateway, 'hello')
        other.send({ name: 'x'.repeat(500_000) })
        t.match(await other.closed, /^1011 too many responses pending/)
        t.match(JSON.parse(other.messages[0]!), { Code: 503 })
        const short = await connect(t, gateway, 'hello')
        short.send({ name: 'Ann' })
        t.equal(await short.closed, '1000')
        slow.socket.resume()
        t.equal(await slow.closed, '1000')
        t.equal(slow.messages[0]!.length, long.length + '{"message":"Hello "}'.length)
        await waitUntil(() => replyMemory.usedBytes === 0)
      },
    )

    t.test(`${name}, ${protocol}: sends the query as the first request`, async (t) => {
      const { gateway } = await openGreeterGateway(t, { listener }, { protocol })
      const { messages, closed } = await connect(t, gateway, 'count?to=2')
      t.equal(await closed, '1000')
      t.same(messages, ['{"n":1}', '{"n":2}'])
    })

    t.test(
      `${name}, ${protocol}: sends an error as the last message, then closes with 1011, or 1008 for a denied call`,
      async (t) => {
        const { gateway } = await openGreeterGateway(t, { listener }, { protocol })
        const rows: [string, string, object][] = [
          [
            'fail?code=409',
            '1011 as requested',
            { Id: 'greeter.own', Code: 409, Status: 'Conflict' },
          ],
          ['fail?code=401', '1008 as requested', { Code: 401, Status: 'Unauthorized' }],
          ['fail?code=403', '1008 as requested', { Code: 403, Status: 'Forbidden' }],
          ['crash', '1011 internal error', { Id: 'go.mx.api.greeter', Code: 500 }],
          ['count', '1011', { Code: 400 }],
        ]
        for (const [path, close, error] of rows) {
          const { messages, closed, send } = await connect(t, gateway, path)
          if (!path.includes('?')) send({})
          t.ok((await closed).startsWith(close), path)
          t.equal(messages.length, 1)
          t.match(JSON.parse(messages[0]!), error)
        }
        const broken = await connect(t, gateway, 'broken?code=400')
        t.equal(await broken.closed, '1011 as requested')
        t.match(
          broken.messages.map((text) => JSON.parse(text)),
          [{ n: 1 }, { Code: 400 }],
        )
      },
    )

    t.test(`${name}, ${protocol}: a disconnect of the client cancels the call`, async (t) => {
      const { gateway, log } = await openGreeterGateway(t, { listener }, { protocol })
      for (const method of ['terminate', 'close'] as const) {
        const { socket, messages } = await connect(t, gateway, 'quiet?x=1')
        await waitUntil(() => messages.length === 1)
        socket[method]()
      }
      await waitUntil(() => log.aborted.length === 2)
      t.same(log.aborted, ['AbortError', 'AbortError'])
      await gateway.gateway.idle()
    })

    t.test(`${name}, ${protocol}: a slow reader slows only its own stream`, async (t) => {
      const { gateway, log } = await openGreeterGateway(t, { listener }, { protocol })
      const { socket, messages } = await connect(t, gateway, 'forever?x=1')
      socket.pause()
      const pending = await settled(() => log.yieldedCount)
      t.ok(gateway.exchanges[0]!.upstreamReplyMs > 0, 'the response time of its node is recorded')
      t.ok(pending < BUFFERED_MAX, `${pending} messages were accepted`)
      const other = await connect(t, gateway, 'hello?name=x')
      t.equal(await other.closed, '1000')
      await waitUntil(() => gateway.gateway.inFlight === 1)
      socket.resume()
      await waitUntil(() => messages.length > pending + 1000)
      t.ok(
        messages.every((text, i) => text.startsWith(`{"n":${i + 1},`)),
        'no message was lost',
      )
      socket.terminate()
      await waitUntil(() => log.closed === 1)
    })

    t.test(`${name}, ${protocol}: reports a crashed service in the last message`, async (t) => {
      const { gateway, service } = await openGreeterGateway(t, { listener }, { protocol })
      const { messages, closed } = await connect(t, gateway, 'quiet?x=1')
      await waitUntil(() => messages.length === 1)
      await service.kill()
      t.equal(await closed, '1011 bad gateway: the service closed the connection')
      t.match(JSON.parse(messages[1]!), { Code: 502, Status: 'Bad Gateway' })
    })
  }

  t.test(`${name}: each message is a request, and an empty message ends them`, async (t) => {
    const { gateway } = await openGreeterGateway(t, { listener })
    const join = await connect(t, gateway, 'join')
    for (const name of ['a', 'b', 'c']) join.send({ name })
    join.socket.send('')
    t.equal(await join.closed, '1000')
    t.same(join.messages, ['{"names":["a","b","c"]}'])
    const started = await connect(t, gateway, 'join?name=q')
    started.send({ name: 'a' })
    started.socket.send(Buffer.alloc(0))
    t.equal(await started.closed, '1000')
    t.same(started.messages, ['{"names":["q","a"]}'])
    const none = await connect(t, gateway, 'join')
    none.socket.send('')
    t.equal(await none.closed, '1000')
    t.same(none.messages, ['{"names":[]}'])
  })

  t.test(`${name}: requests and responses are concurrent`, async (t) => {
    const { gateway } = await openGreeterGateway(t, { listener })
    const { socket, messages, closed, send } = await connect(t, gateway, 'chat')
    for (let i = 1; i <= 100; i++) {
      send({ name: `n${i}` })
      await waitUntil(() => messages.length === i)
    }
    t.equal(messages[99], '{"message":"Hello n100"}')
    for (let i = 0; i < 20_000; i++) send({ name: 'x' })
    socket.send('')
    t.equal(await closed, '1000')
    t.equal(messages.length, 20_100)
  })

  t.test(`${name}: sends protobuf in binary messages`, async (t) => {
    const { gateway } = await openGreeterGateway(t, { listener })
    const { socket, messages, closed } = await connect(t, gateway, 'talk', {
      'content-type': 'application/protobuf',
    })
    socket.send(Buffer.from('\n\x01a'))
    await waitUntil(() => messages.length === 1)
    t.equal(messages[0], `0:${Buffer.from('\n\x07Hello a').toString('base64')}`)
    socket.send('')
    t.equal(await closed, '1000')
    const json = await connect(t, gateway, 'talk?name=a', {
      'content-type': 'application/protobuf',
    })
    await waitUntil(() => json.messages.length === 1)
    t.equal(json.messages[0], '{"message":"Hello a"}', 'a request from the query is JSON')
  })

  t.test(`${name}: a slow service applies back-pressure to its client`, async (t) => {
    const { gateway, service } = await openGreeterGateway(t, { listener })
    const { socket, send } = await connect(t, gateway, 'busy')
    const pad = 'x'.repeat(10_000)
    // 50 MB: more than the socket buffers hold.
    for (let i = 0; i < 5000; i++) send({ pad })
    const waiting = await settled(() => socket.bufferedAmount)
    t.ok(waiting > 10_000_000, `${waiting} bytes are buffered at the client`)
    const other = await connect(t, gateway, 'hello?name=x')
    t.equal(await other.closed, '1000')
    t.equal(service.calls.length, 2)
  })

  t.test(`${name}: back-pressure includes the number of small requests`, async (t) => {
    const { gateway } = await openGreeterGateway(t, { listener })
    const { socket } = await connect(t, gateway, 'busy')
    // A text frame with `{}` and a masking key of zeros (RFC 6455 §5.2).
    const frame = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x7b, 0x7d])
    ;(socket as unknown as { _socket: Socket })._socket.write(Buffer.alloc(8_000_000, frame))
    const [x] = gateway.exchanges
    const accepted = (await settled(() => x!.bytesIn)) / 2
    t.ok(accepted > 4000 && accepted < 200_000, `${accepted} requests were accepted`)
  })

  t.test(`${name}: selects the first offered subprotocol`, async (t) => {
    const { gateway } = await openGreeterGateway(t, { listener })
    const rows: [string[], string][] = [
      [['json'], 'json'],
      [['bearer.abc-123', 'json'], 'bearer.abc-123'],
      [[], ''],
    ]
    for (const [offered, selected] of rows) {
      const socket = new WebSocket(`${gateway.origin}/greeter/quiet`, offered)
      t.teardown(() => socket.terminate())
      await once(socket, 'open')
      t.equal(socket.protocol, selected)
    }
  })

  t.test(
    `${name}: closes with 1009 and cancels the call for a message above the limit`,
    async (t) => {
      const { gateway, log } = await openGreeterGateway(t, {
        listener,
        flags: ['--max_message=64kb'],
      })
      const { socket, messages, closed } = await connect(t, gateway, 'quiet?x=1')
      await waitUntil(() => messages.length === 1)
      socket.send('x'.repeat(65_537))
      t.match(await closed, /^1009/)
      await waitUntil(() => log.aborted.length === 1)
    },
  )

  t.test(`${name}: returns HTTP errors before the handshake`, async (t) => {
    const { gateway, service } = await openGreeterGateway(t, { listener })
    const { port } = gateway
    const rows: [string, Record<string, string>, number, object][] = [
      ['/greeter/none', {}, 404, { Detail: /^endpoint not found/ }],
      ['/unknown/call', {}, 404, { Detail: /^service not found/ }],
      ['/greeter/debug/stats', {}, 404, {}],
      ['/greeter/count?to=x', {}, 400, { Detail: /to must be an integer/ }],
      ['/greeter/count?__proto__=x', {}, 400, {}],
      ['/greeter/count', { timeout: 'soon' }, 400, { Detail: /Timeout/ }],
      ['/greeter/count', { 'content-type': 'text/plain' }, 415, {}],
      ['/greeter/count', { 'content-type': 'application/json-rpc' }, 415, {}],
      ['/greeter/count?to=1', { 'content-type': 'application/proto-rpc' }, 415, {}],
    ]
    for (const [path, headers, status, error] of rows) {
      const rejection = await rejectedWebSocket(port, { path, headers })
      t.equal(rejection.status, status, path)
      t.match(JSON.parse(rejection.body), { Code: status, ...error })
    }
    t.same(service.calls, [])
  })

  t.test(`${name}: a stopping gateway notifies its clients and cancels their calls`, async (t) => {
    const { gateway, log } = await openGreeterGateway(t, { listener })
    const { messages, closed } = await connect(t, gateway, 'quiet?x=1')
    await waitUntil(() => messages.length === 1)
    gateway.listener.closeTunnels()
    t.match(await closed, /^1012/)
    await waitUntil(() => log.aborted.length === 1)
  })
}

t.test('a call has no deadline unless the client sets one', async (t) => {
  const { gateway, service, log } = await openGreeterGateway(t, {
    flags: ['--reply_timeout=100ms'],
  })
  const endless = await connect(t, gateway, 'chat')
  const withTimeout = await connect(t, gateway, 'quiet?x=1', { timeout: '0.3' })
  t.match(await withTimeout.closed, /^1011 .*in time/)
  t.match(JSON.parse(withTimeout.messages[1]!), { Code: 408 })
  await waitUntil(() => log.aborted.length === 1)
  endless.send({ name: 'x' })
  await waitUntil(() => endless.messages.length === 1)
  t.same(
    service.calls.map(({ timeoutMs }) => timeoutMs),
    [0, 300],
  )
})

t.test('the service returns 400 for malformed JSON', async (t) => {
  const { gateway } = await openGreeterGateway(t)
  const { messages, closed, socket } = await connect(t, gateway, 'chat')
  socket.send('{"name":')
  t.match(await closed, /^1011/)
  t.match(JSON.parse(messages[0]!), { Code: 400, Detail: /JSON/ })
})

t.test('retries an unserved call on the next node with all sent messages', async (t) => {
  const dead = await openMxService(t, createGreeter())
  const alive = await openMxService(t, createGreeter())
  await dead.kill()
  const gateway = await openRpcGateway(t, [dead.entry, alive.entry])
  for (let i = 0; i < 4; i++) {
    const { send, socket, closed, messages } = await connect(t, gateway, 'join')
    send({ name: 'a' })
    socket.send('')
    t.equal(await closed, '1000')
    t.same(messages, ['{"names":["a"]}'])
  }
  t.same(gateway.ejected, [dead.entry.nodes[0]?.id])
})

t.test('reports a service without an available node in the last message', async (t) => {
  const dead = await openMxService(t, createGreeter())
  await dead.kill()
  const gateway = await openRpcGateway(t, [dead.entry])
  const { closed, messages } = await connect(t, gateway, 'join')
  t.match(await closed, /^1011 bad gateway/)
  t.match(JSON.parse(messages[0]!), { Code: 502 })
})

t.test('http: a service with the HTTP transport accepts only one request', async (t) => {
  const { gateway, log, service } = await openGreeterGateway(t, {}, { protocol: 'http' })
  const late = await connect(t, gateway, 'quiet')
  await tick()
  t.same(service.calls, [], 'the call waits for the first message')
  late.send({ x: 1 })
  await waitUntil(() => late.messages.length === 1)
  late.socket.send('')
  await tick()
  t.equal(late.socket.readyState, WebSocket.OPEN, 'the end of the requests is optional')
  late.send({ x: 2 })
  t.match(await late.closed, /^1011 Greeter\.Quiet accepts only one request/)
  t.match(JSON.parse(late.messages[1]!), { Code: 400 })
  await waitUntil(() => log.aborted.length === 1)
  const disconnected = await connect(t, gateway, 'quiet')
  disconnected.socket.terminate()
  await gateway.gateway.idle()
  t.equal(service.calls.length, 1)
})
