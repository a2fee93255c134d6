// The callee's end behind both listeners, as in services.
import t, { type Test } from 'tap'
import { createNodeListener } from '../../../../core/listener/node/listener.ts'
import { createUwsListener } from '../../../../core/listener/uws/listener.ts'
import type { Dispatch, IncomingCall } from '../../../../core/rpc/call.ts'
import { Channel } from '../../../../core/rpc/ws/channel.ts'
import { RPC_PATH, SUBPROTOCOL, WS_MESSAGE_MAX_BYTES } from '../../../../core/rpc/ws/frames.ts'
import { ServerConnection } from '../../../../core/rpc/ws/server-connection.ts'
import { openListener } from '../../../fixtures/open-listener.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { createTracker, RecordedCall } from '../../../fixtures/rpc.ts'

const LISTENERS = { uws: createUwsListener, node: createNodeListener }
type Name = keyof typeof LISTENERS

async function open(t: Test, name: Name, dispatch: Dispatch) {
  const connections: ServerConnection[] = []
  const { port } = await openListener(
    t,
    LISTENERS[name],
    (x) => {
      if (x.path !== RPC_PATH) throw new Error(x.path)
      const connection = new ServerConnection(dispatch)
      const options = { protocol: SUBPROTOCOL, maxMessageBytes: WS_MESSAGE_MAX_BYTES }
      const socket = x.accept(connection, options)
      if (socket === undefined) return
      connection.open(socket)
      connections.push(connection)
    },
    { maxMessageBytes: WS_MESSAGE_MAX_BYTES },
  )
  const channel = new Channel({ host: '127.0.0.1', port })
  t.teardown(() => channel.close())
  return { connections, channel }
}

function send(channel: Channel, fields: Partial<RecordedCall> = {}): RecordedCall {
  const call = new RecordedCall(fields)
  channel.call(call)
  return call
}

for (const name of Object.keys(LISTENERS) as Name[]) {
  t.test(`${name}: many calls over one connection get their own results`, async (t) => {
    const { channel, connections } = await open(t, name, (call) =>
      call.reply('a: b\r\n', call.body),
    )
    const calls = Array.from({ length: 5000 }, (_, i) => send(channel, { body: String(i) }))
    await waitUntil(() => channel.pending === 0)
    for (const [i, { events }] of calls.entries()) {
      if (events[0] !== `reply "a: b\\r\\n" ${i}`) t.fail(`call ${i}: ${events}`)
    }
    t.equal(connections.length, 1)
  })

  t.test(`${name}: 100 000 concurrent calls get their responses in reverse order`, async (t) => {
    const COUNT = 100_000
    const waiting: (IncomingCall & { text: string })[] = []
    const { channel, connections } = await open(t, name, (call) => {
      waiting.push(Object.assign(call, { text: Buffer.from(call.body).toString() }))
    })
    const calls = [send(channel, { body: '0' })]
    // The number of calls that wait for a connection is limited to fewer.
    await waitUntil(() => waiting.length === 1)
    while (calls.length < COUNT) calls.push(send(channel, { body: String(calls.length) }))
    await waitUntil(() => waiting.length === COUNT)
    t.equal(channel.pending, COUNT)
    t.equal(connections[0]!.pending, COUNT)
    for (const call of waiting.reverse()) call.reply('', call.text)
    await waitUntil(() => channel.pending === 0)
    const invalid = calls.filter(({ events }, i) => events.join() !== `reply "" ${i}`)
    t.equal(invalid.length, 0)
    t.equal(connections[0]!.pending, 0)
    t.equal(connections.length, 1)
  })

  t.test(`${name}: concurrent requests and responses of the maximum length`, async (t) => {
    const { channel } = await open(t, name, (call) => call.reply('', call.body))
    const body = Buffer.alloc(16 * 1024 * 1024 - 100, 'x')
    let same = 0
    const calls = Array.from({ length: 4 }, () => {
      const call = new RecordedCall({ body })
      call.onReply = (_metadata, reply) => {
        if (body.equals(reply)) same++
      }
      channel.call(call)
      return call
    })
    await waitUntil(() => channel.pending === 0)
    t.equal(same, 4)
    t.strictSame(
      calls.flatMap(({ events }) => events),
      [],
    )
  })

  t.test(`${name}: results beyond the buffers of a caller, repeatedly`, async (t) => {
    const body = 'x'.repeat(100_000)
    const { channel } = await open(t, name, (call) => call.reply('', body))
    let replies = 0
    const sendRequest = (left: number): void => {
      const call = new RecordedCall()
      call.onReply = (_metadata, reply) => {
        if (reply.length === body.length) replies++
        if (left > 0) sendRequest(left - 1)
      }
      channel.call(call)
    }
    for (let i = 0; i < 200; i++) sendRequest(9)
    await waitUntil(() => replies === 2000)
    t.equal(channel.pending, 0)
  })

  t.test(`${name}: streams, cancellation, GOAWAY and the end of a connection`, async (t) => {
    const { dispatch, calls, events } = createTracker()
    const { channel, connections } = await open(t, name, dispatch)
    const stream = send(channel, { stream: true, more: true, body: '' })
    const cancelled = send(channel)
    await waitUntil(() => calls.length === 2)
    t.ok(stream.sendData('up'))
    cancelled.cancel()
    t.ok(calls[0]!.sendData('down'))
    await waitUntil(() => stream.events.length > 0 && events[1]!.length > 0)
    t.strictSame(events, [['data up'], ['cancel cancel']])
    connections[0]!.goAway()
    const next = send(channel)
    await waitUntil(() => calls.length === 3)
    t.equal(connections.length, 2, 'another connection')
    calls[0]!.endData()
    await waitUntil(() => connections[0]!.closed && stream.events.length === 2)
    t.strictSame(stream.events, ['data down', 'end'])
    channel.close()
    t.strictSame(next.events, ['lost closed'])
    await waitUntil(() => events[2]!.length > 0)
    t.strictSame(events[2], ['cancel closed'])
  })

  t.test(`${name}: a protocol violation closes the connection with 1002`, async (t) => {
    const { dispatch, calls, events } = createTracker()
    const { channel, connections } = await open(t, name, dispatch)
    const call = send(channel)
    await waitUntil(() => calls.length === 1)
    connections[0]!.onMessage(Buffer.from('no frame'), true)
    await waitUntil(() => call.events.length > 0)
    t.match(call.lost, {
      kind: 'closed',
      detail: 'connection closed (1002 message ends inside a frame)',
    })
    t.strictSame(events, [['cancel closed']])
  })
}
