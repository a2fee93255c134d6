import { once } from 'node:events'
import { connect } from 'node:http2'
import t from 'tap'
import type { Exchange } from '../../../../core/exchange.ts'
import { createNodeListener } from '../../../../core/listener/node/listener.ts'
import {
  END_STREAM,
  FRAME,
  type Frame,
  Http2Raw,
  toBlock,
  toFrame,
  toRequest,
} from '../../../fixtures/http2-raw.ts'
import { openListener } from '../../../fixtures/open-listener.ts'

const ENHANCE_YOUR_CALM = 11

const open = (t: Parameters<typeof openListener>[0], handle: (x: Exchange) => void) =>
  openListener(t, createNodeListener, handle, { http2: 'cleartext' })

const isGoaway = ({ type }: Frame) => type === FRAME.GOAWAY
const isReplyTo = (stream: number) => (frame: Frame) =>
  frame.type === FRAME.HEADERS && frame.stream === stream

async function waitUntil(test: () => boolean): Promise<void> {
  while (!test()) await new Promise((resolve) => setImmediate(resolve))
}

/** Last accepted stream and error code of a `GOAWAY` (RFC 9113 §6.8). */
const readGoaway = ({ payload }: Frame) => ({
  last: payload.readUInt32BE(0),
  code: payload.readUInt32BE(4),
})

t.test(
  'many cancelled requests close the connection after requests in flight have completed',
  async (t) => {
    let pending: Exchange | undefined
    const { port, served, gateway } = await open(t, (x) => {
      if (x.path === '/pending') pending = x
    })
    const raw = new Http2Raw(port)
    const stream = raw.open(toRequest('/pending'))
    await waitUntil(() => pending !== undefined)
    const cancel = Buffer.from([0, 0, 0, 8])
    for (let i = 0; i < 900; i++)
      raw.send(toFrame(FRAME.RST_STREAM, 0, raw.open(toRequest('/cancelled')), cancel))
    const { code } = readGoaway(await raw.waitUntil(isGoaway))
    t.equal(code, ENHANCE_YOUR_CALM)
    t.ok(served.length < 300, `${served.length} started`)
    pending!.reply(200, 'done')
    await raw.waitUntil(isReplyTo(stream))
    await raw.client.ended()
    await waitUntil(() => gateway.inFlight === 0)
    raw.destroy()
  },
)

t.test('a client that cancels 50 requests stays connected', async (t) => {
  const { port } = await open(t, (x) => {
    if (x.path === '/next') x.reply(200, 'next')
  })
  const raw = new Http2Raw(port)
  for (let i = 0; i < 50; i++)
    raw.send(toFrame(FRAME.RST_STREAM, 0, raw.open(toRequest('/')), Buffer.from([0, 0, 0, 8])))
  await raw.waitUntil(isReplyTo(raw.open(toRequest('/next'))))
  t.notOk(raw.frames.some(isGoaway))
  raw.destroy()
})

t.test('streams beyond the limit of 128 are rejected, and the others are served', async (t) => {
  const pending: Exchange[] = []
  const { port } = await open(t, (x) => void pending.push(x))
  const raw = new Http2Raw(port)
  // Sent before the settings are acknowledged; later streams would be a connection error.
  const streams = Array.from({ length: 140 }, () => raw.open(toRequest('/')))
  await raw.waitUntil(({ type, stream }) => type === FRAME.RST_STREAM && stream === streams.at(-1))
  const rejected = raw.frames.filter(({ type }) => type === FRAME.RST_STREAM)
  t.equal(rejected.length, 140 - 128)
  t.ok(
    rejected.every(({ payload }) => payload.readUInt32BE(0) === 7),
    'REFUSED_STREAM',
  )
  await waitUntil(() => pending.length === 128)
  for (const x of pending) x.reply(204)
  await raw.waitUntil(isReplyTo(streams[127]!))
  raw.destroy()
})

const floods: [title: string, flood: (raw: Http2Raw) => void][] = [
  [
    'endless CONTINUATION frames',
    (raw) => {
      raw.send(toFrame(FRAME.HEADERS, END_STREAM, 1, toBlock(toRequest('/'))))
      for (let i = 0; i < 200; i++)
        raw.send(toFrame(FRAME.CONTINUATION, 0, 1, toBlock(['x-a', 'b'.repeat(1000)])))
    },
  ],
  [
    'PING frames with unread acknowledgements',
    (raw) => {
      raw.client.socket.pause()
      const ping = toFrame(FRAME.PING, 0, 0, Buffer.alloc(8))
      for (let i = 0; i < 400; i++) raw.send(...Array.from({ length: 1000 }, () => ping))
    },
  ],
  [
    'SETTINGS frames with unread acknowledgements',
    (raw) => {
      raw.client.socket.pause()
      const settings = toFrame(FRAME.SETTINGS, 0, 0)
      for (let i = 0; i < 400; i++) raw.send(...Array.from({ length: 1000 }, () => settings))
    },
  ],
  [
    'empty DATA frames',
    (raw) => {
      const stream = raw.open(toRequest('/'), 0)
      for (let i = 0; i < 3000; i++) raw.send(toFrame(FRAME.DATA, 0, stream))
    },
  ],
]
for (const [title, flood] of floods) {
  t.test(`a flood closes the connection: ${title}`, async (t) => {
    const { port, listener, gateway } = await open(t, () => {})
    const raw = new Http2Raw(port)
    await waitUntil(() => listener.connections === 1)
    flood(raw)
    await waitUntil(() => listener.connections === 0)
    t.equal(gateway.inFlight, 0)
    raw.destroy()
  })
}

t.test(
  'GOAWAY names the last accepted request, and requests up to it get a response',
  async (t) => {
    const { port, listener, served } = await open(t, (x) => {
      setTimeout(() => x.reply(200, 'done'), 20)
    })
    const raw = new Http2Raw(port)
    const before = Array.from({ length: 20 }, () => raw.open(toRequest('/before')))
    await waitUntil(() => served.length === 20)
    listener.drain()
    const crossing = raw.open(toRequest('/crossing'))
    const { last, code } = readGoaway(await raw.waitUntil(isGoaway))
    t.equal(code, 0)
    t.ok(last >= before.at(-1)! && last <= crossing)
    await raw.client.ended()
    raw.destroy()
    const servedStreams = raw.frames
      .filter(({ type }) => type === FRAME.HEADERS)
      .map(({ stream }) => stream)
    for (let stream = 1; stream <= last; stream += 2)
      t.ok(servedStreams.includes(stream), `${stream}`)
    t.equal(served.length, servedStreams.length, 'requests after it were not started')
    await waitUntil(() => listener.connections === 0)
  },
)

t.test('a client disconnect aborts all its exchanges', async (t) => {
  const pending: Exchange[] = []
  const { port, gateway } = await open(t, (x) => void pending.push(x))
  const client = connect(`http://127.0.0.1:${port}`)
  client.on('error', () => {})
  for (const path of ['/1', '/2']) client.request({ ':path': path }).on('error', () => {})
  await waitUntil(() => pending.length === 2)
  pending[0]!.reply(200, Buffer.alloc(16 * 1024 * 1024))
  client.destroy()
  await waitUntil(() => gateway.inFlight === 0)
  t.ok(pending.every((x) => x.aborted))
})

t.test('a cancelled request aborts its exchange, other requests continue', async (t) => {
  const pending: Exchange[] = []
  const { port } = await open(t, (x) => void pending.push(x))
  const client = connect(`http://127.0.0.1:${port}`)
  t.teardown(() => client.destroy())
  const [first, second] = ['/1', '/2'].map((path) => client.request({ ':path': path }))
  first!.on('error', () => {})
  await waitUntil(() => pending.length === 2)
  first!.close(8)
  await waitUntil(() => pending[0]!.finished)
  t.equal(pending[0]!.aborted, true)
  pending[1]!.reply(200, 'fine')
  const [headers] = await once(second!, 'response')
  t.equal(headers[':status'], 200)
})

t.test('a malformed frame closes the connection, and ends its requests', async (t) => {
  const malformed = [
    toFrame(FRAME.DATA, 0, 1, Buffer.from('after the end of the stream')),
    toFrame(FRAME.PING, 0, 0, Buffer.from('short')),
    toFrame(FRAME.CONTINUATION, 0, 1),
  ]
  await Promise.all(
    malformed.map(async (frame) => {
      let pending: Exchange | undefined
      const { port, gateway } = await open(t, (x) => {
        pending = x
      })
      const raw = new Http2Raw(port)
      raw.open(toRequest('/'))
      await waitUntil(() => pending !== undefined)
      raw.send(frame)
      await raw.waitUntil(isGoaway)
      pending!.reply(200, 'done')
      await raw.client.ended()
      await waitUntil(() => gateway.inFlight === 0)
      raw.destroy()
    }),
  )
})
