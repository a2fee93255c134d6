// Flow control (docs/protocol.md §2.5) between client and server.
import t from 'tap'
import type { IncomingCall } from '../../../core/rpc/call.ts'
import { Channel } from '../../../core/rpc/ws/channel.ts'
import { ClientConnection } from '../../../core/rpc/ws/client-connection.ts'
import { ServerConnection } from '../../../core/rpc/ws/server-connection.ts'
import { Echo, Sink, Source } from '../../fixtures/call-streams.ts'
import { tick, waitUntil } from '../../fixtures/raw-backend.ts'
import { LinkSocket } from '../../fixtures/rpc.ts'
import { openRpcService } from '../../fixtures/rpc-service.ts'

const WINDOW = 262_144
const OWNER = { onRetired: () => {}, onUnsent: () => {}, onIdle: () => {}, onClosed: () => {} }

function link(dispatch: (call: IncomingCall) => void, highBytes?: number) {
  const [local, remote] = LinkSocket.pair(highBytes)
  const client = new ClientConnection(local, OWNER)
  const server = new ServerConnection(dispatch)
  local.receiver = client
  remote.receiver = server
  server.open(remote)
  return { client, server, local, remote }
}

t.test(
  'a slow reader of a million messages uses bounded memory and does not block other streams',
  async (t) => {
    const COUNT = 1_000_000
    const sources: Source[] = []
    const { client, remote } = link((call) => {
      sources.push(new Source(call, call.endpoint === 'Slow.Stream' ? COUNT : 20_000))
    })
    const slow = new Sink({ stream: true, endpoint: 'Slow.Stream' })
    client.call(slow)
    await waitUntil(() => slow.received === 4096)
    for (let i = 0; i < 50; i++) await tick()
    t.equal(slow.received, 4096, 'no more than the window is sent')
    t.equal(sources[0]!.next, 4096)

    const quick = new Sink({ stream: true, endpoint: 'Quick.Stream' })
    quick.onData = (body) => {
      Sink.prototype.onData.call(quick, body)
      quick.take(1)
    }
    client.call(quick)
    await waitUntil(() => quick.ended)
    t.equal(quick.received, 20_000)
    t.equal(slow.received, 4096)

    while (!slow.ended) {
      slow.take(1500)
      await tick()
    }
    t.equal(slow.received, COUNT)
    t.ok(slow.isOrdered)
    t.ok(slow.maxQueue <= 4096, `at most ${slow.maxQueue} bodies queued`)
    t.ok(
      remote.maxBufferedBytes <= 2 * WINDOW,
      `at most ${remote.maxBufferedBytes} bytes in transit`,
    )
    t.equal(client.pending, 0)
  },
)

t.test(
  'one side buffers at most 262144 bytes plus one body per stream, at any body size',
  async (t) => {
    for (const size of [0, 63, 64, 1000, 100_000, 262_143, 1_000_000]) {
      const { client, remote } = link((call) => void new Source(call, 50, ' '.repeat(size)))
      const sink = new Sink({ stream: true })
      client.call(sink)
      while (!sink.ended) {
        await tick()
        sink.take(1)
      }
      t.equal(sink.received, 50)
      t.ok(sink.isOrdered)
      t.ok(sink.maxQueuedBytes <= WINDOW + size + 2, `bodies of ${size}: ${sink.maxQueuedBytes}`)
      t.ok(remote.maxBufferedBytes <= WINDOW + size + 1000)
    }
  },
)

t.test('a hundred streams share a slow connection with bounded buffers', async (t) => {
  const sources: Source[] = []
  const { client, remote } = link((call) => {
    sources.push(new Source(call, 500, ' '.repeat(1000)))
  }, 64 * 1024)
  const sinks = Array.from({ length: 100 }, () => new Sink({ stream: true }))
  for (const sink of sinks) client.call(sink)
  await waitUntil(() => {
    for (const sink of sinks) sink.take(10)
    return sinks.every(({ ended }) => ended)
  })
  t.ok(sinks.every(({ received, isOrdered }) => received === 500 && isOrdered))
  // A writer packs messages of 256 KiB and waits for the connection after each.
  t.ok(remote.maxBufferedBytes <= 64 * 1024 + 2 * 256 * 1024, `${remote.maxBufferedBytes} bytes`)
})

t.test(
  'on a TCP connection both directions of a call follow the pace of their readers',
  async (t) => {
    const COUNT = 50_000
    const service = await openRpcService(t, (call) => void new Echo(call))
    const channel = new Channel({ host: '127.0.0.1', port: service.port })
    t.teardown(() => channel.close())
    const sink = new Sink({ stream: true, more: true, body: '' })
    let sent = 0
    sink.onCredit = () => {
      while (sent < COUNT) {
        if (!sink.sendData(`${sent} ${'.'.repeat(sent % 100)}`)) return
        sent++
      }
      sink.endData()
    }
    channel.call(sink)
    sink.onCredit()
    while (!sink.ended) {
      sink.take(500)
      await tick()
    }
    t.equal(sink.received, COUNT)
    t.ok(sink.isOrdered)
    t.ok(sink.maxQueue <= 4096)
  },
)
