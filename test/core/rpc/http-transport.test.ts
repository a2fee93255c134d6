// Both ends of the HTTP transport, alongside the WebSocket transport on the same port.
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { createNodeListener } from '../../../core/listener/node/listener.ts'
import { createUwsListener } from '../../../core/listener/uws/listener.ts'
import type { Dispatch, OutgoingCall } from '../../../core/rpc/call.ts'
import { type Caller, createCaller } from '../../../core/rpc/caller.ts'
import { servePlain } from '../../../core/rpc/http/server.ts'
import { RPC_PATH, SUBPROTOCOL, WS_MESSAGE_MAX_BYTES } from '../../../core/rpc/ws/frames.ts'
import { ServerConnection } from '../../../core/rpc/ws/server-connection.ts'
import { Pool } from '../../../core/upstream/pool/pool.ts'
import { createServiceLog } from '../../../sdk/log/service-log.ts'
import { createDispatcher } from '../../../sdk/service/dispatch.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { createTracker, RecordedCall } from '../../fixtures/rpc.ts'

const LISTENERS = { uws: createUwsListener, node: createNodeListener }
type Name = keyof typeof LISTENERS

/** Opens a service and callers of both transports. */
async function open(t: Test, name: Name, dispatch: Dispatch) {
  const listener = await LISTENERS[name]({
    host: '127.0.0.1',
    port: 0,
    internalHeaders: true,
    maxMessageBytes: WS_MESSAGE_MAX_BYTES,
    handle(x) {
      if (x.path !== RPC_PATH) return servePlain(x, dispatch)
      const connection = new ServerConnection(dispatch)
      const options = { protocol: SUBPROTOCOL, maxMessageBytes: WS_MESSAGE_MAX_BYTES }
      connection.open(x.accept(connection, options)!)
    },
  })
  const { port } = listener
  const pool = new Pool({
    host: '127.0.0.1',
    port,
    secure: false,
    timeouts: { connectMs: 5000, replyMs: 10_000, idleMs: 10_000 },
    keepAliveMs: 10_000,
    pipeline: 1,
    maxConnections: 16,
    maxWaiting: 10_000,
  })
  const node = { host: '127.0.0.1', port, secure: false }
  const httpCaller = createCaller({ ...node, protocol: 'http', pool })
  const fast = createCaller({ ...node, protocol: 'mx', pool })
  t.teardown(async () => {
    httpCaller.close()
    fast.close()
    await listener.close()
  })
  return { httpCaller, fast, pool }
}

/** Resolves with the events of a call once it has ended. Bodies are consumed on arrival. */
async function runCall(caller: Caller, fields: Partial<OutgoingCall>): Promise<string[]> {
  const call = new RecordedCall(fields)
  call.onEvent = (event) => {
    if (event.startsWith('data ')) call.consumed(event.length - 5)
  }
  caller.call(call)
  await waitUntil(() => call.carrier === undefined)
  return call.events
}

const Name = Type.Object({ name: Type.String() })

for (const listener of Object.keys(LISTENERS) as Name[]) {
  t.test(`${listener}: a service responds the same over both transports`, async (t) => {
    const { dispatch } = createDispatcher({
      service: 'helloworld',
      log: createServiceLog({ service: 'helloworld', level: 'silent' }),
      handlers: {
        Helloworld: {
          call: endpoint({ request: Name, handle: ({ name }) => ({ msg: `Hello ${name}` }) }),
          fail: endpoint({
            handle() {
              throw new Error('secret')
            },
          }),
          stream: endpoint({
            request: Name,
            stream: 'server',
            *handle({ name }) {
              for (let i = 0; i < 1000; i++) yield { name, i }
              if (name === 'Judas') throw new Error('secret')
            },
          }),
          account: endpoint({
            handle: (_, ctx) => ({ account: ctx.account, namespace: ctx.namespace }),
          }),
        },
      },
    })
    const { httpCaller, fast } = await open(t, listener, dispatch)
    const cases: Partial<OutgoingCall>[] = [
      {},
      { body: '{"name":1}' },
      { body: 'nonsense' },
      { body: '' },
      { endpoint: 'Helloworld.Fail' },
      { endpoint: 'Helloworld.Gone' },
      { service: 'other' },
      { service: 'shop.helloworld', timeoutMs: 5000 },
      { endpoint: 'Helloworld.Stream', stream: true },
      { endpoint: 'Helloworld.Stream', stream: true, body: '{"name":"Judas"}' },
      { endpoint: 'Helloworld.Stream', stream: true, body: 'nonsense' },
      { stream: true },
      {
        endpoint: 'Helloworld.Account',
        metadata: 'mx-account: {"id":"1","type":"user"}\r\nmx-namespace: shop\r\n',
      },
    ]
    for (const fields of cases) {
      const expected = await runCall(fast, fields)
      const events = await runCall(httpCaller, fields)
      const isContent = (event: string) => !event.startsWith('start ')
      t.strictSame(events.filter(isContent).map(withoutMetadata), expected.map(withoutMetadata))
      t.ok(expected.length > 0, expected.at(-1)!)
    }
  })

  t.test(`${listener}: 2000 concurrent calls and streams succeed`, async (t) => {
    const { httpCaller, pool } = await open(t, listener, (call) => {
      if (call.endpoint === 'A.Reply') return call.reply('', call.body)
      const text = Buffer.from(call.body).toString()
      for (let i = 0; i < 3; i++) call.sendData(`"${text}-${i}"`)
      call.endData()
    })
    const calls = Array.from({ length: 2000 }, (_, i) => {
      const stream = i % 2 === 1
      const call = new RecordedCall({
        endpoint: stream ? 'A.Stream' : 'A.Reply',
        body: `${i}`,
        stream,
      })
      httpCaller.call(call)
      return call
    })
    await waitUntil(() => httpCaller.pending === 0)
    let invalid = 0
    for (const [i, { events, stream }] of calls.entries()) {
      const expected = stream
        ? `data "${i}-0" data "${i}-1" data "${i}-2" end`
        : `reply "content-type: application/json\\r\\n" ${i}`
      if (events.filter((event) => !/^start /.test(event)).join(' ') !== expected) invalid++
    }
    t.equal(invalid, 0)
    t.ok(pool.size <= 16)
  })

  t.test(`${listener}: bodies of 16 MiB pass in requests, responses and streams`, async (t) => {
    const { httpCaller } = await open(t, listener, (call) => {
      if (call.endpoint === 'A.Reply') return call.reply('', call.body)
      call.sendData(call.body)
      call.endData()
    })
    const body = Buffer.alloc(16 * 1024 * 1024, 'x')
    for (const name of ['A.Reply', 'A.Stream']) {
      const call = new RecordedCall({ endpoint: name, body, stream: true })
      let isEqual = false
      const check = (received: Uint8Array) => {
        isEqual = body.equals(received)
      }
      call.onReply = (_, received) => check(received)
      call.onData = check
      httpCaller.call(call)
      await waitUntil(() => call.carrier === undefined)
      t.ok(isEqual, name)
    }
  })

  t.test(
    `${listener}: a slow caller slows the service and receives every message in order`,
    async (t) => {
      const count = 40_000
      let sent = 0
      let rejected = 0
      const { httpCaller } = await open(t, listener, (call) => {
        const send = () => {
          while (sent < count) {
            if (!call.sendData(`{"i":${sent},"pad":"${'x'.repeat(500)}"}`)) {
              rejected++
              return
            }
            sent++
          }
          call.endData()
        }
        call.receiver = { onData() {}, onEnd() {}, onCancel() {}, onCredit: send }
        send()
      })
      const call = new RecordedCall({ stream: true })
      const waiting: number[] = []
      let received = 0
      let isOrdered = true
      call.onData = (body) => {
        isOrdered &&= Buffer.from(body).toString().startsWith(`{"i":${received},`)
        received++
        waiting.push(body.length)
      }
      httpCaller.call(call)
      while (call.carrier !== undefined) {
        for (const bytes of waiting.splice(0, 100)) call.consumed(bytes)
        await new Promise<void>((resolve) => setImmediate(resolve))
      }
      t.strictSame(call.events.slice(-1), ['end'])
      t.equal(received, count)
      t.ok(isOrdered)
      t.ok(rejected > 0, `back-pressure ${rejected} times`)
    },
  )

  t.test(`${listener}: cancellation and deadlines reach the service`, async (t) => {
    const { dispatch, calls, events } = createTracker()
    const { httpCaller } = await open(t, listener, dispatch)
    const cancelled = new RecordedCall({ stream: true })
    httpCaller.call(cancelled)
    await waitUntil(() => calls.length === 1)
    calls[0]!.sendData('1')
    await waitUntil(() => cancelled.events.length === 2)
    cancelled.cancel()
    await waitUntil(() => events[0]!.length === 1)
    t.strictSame(events[0], ['cancel cancel'])
    const late = await runCall(httpCaller, { timeoutMs: 50 })
    // The faster clock of the two sides determines the result; both results are timeouts.
    t.match(late, [/^(lost timeout|fail 408 helloworld: no response within \d+ ms)$/])
    await waitUntil(() => events[1]!.length === 1)
    t.match(events[1], [/^cancel (timeout|cancel)$/])
    t.equal(httpCaller.pending, 0)
  })
}

/** Removes metadata: the HTTP transport always sends a content type. */
function withoutMetadata(event: string): string {
  return event.replace(/^reply "(?:[^"\\]|\\.)*"/, 'reply')
}
