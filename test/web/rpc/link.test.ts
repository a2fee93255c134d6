import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type WebSocket as ServerSocket, WebSocket, WebSocketServer } from 'ws'
import { GOAWAY, HEADER_BYTES, readU32 } from '../../../core/rpc/ws/frames.ts'
import { CallError } from '../../../web/rpc/call-error.ts'
import type { CallOptions } from '../../../web/rpc/connection.ts'
import { formatCredit, toBody } from '../../../web/rpc/frames.ts'
import { Link, type LinkOptions, type LinkSocket } from '../../../web/rpc/link.ts'
import { eventually } from '../../fixtures/eventually.ts'

const HELLO: CallOptions = {
  service: 'greeter',
  endpoint: 'Greeter.Hello',
  metadata: '',
  timeoutMs: 0,
  body: toBody({}),
  streams: false,
  sends: false,
}
const SUBPROTOCOL = 'mx.rpc.1'

interface Opened {
  readonly link: Link
  readonly sockets: ServerSocket[]
  readonly stop: () => Promise<void>
  readonly start: () => Promise<void>
  /** Bytes that the server received. */
  received: string
  refusals: number
}

/** Opens a link to a server that sends no responses. */
async function open(t: Test, options: Partial<LinkOptions> = {}): Promise<Opened> {
  let server: WebSocketServer | undefined
  let port = 0
  const sockets: ServerSocket[] = []
  const opened: Opened = {
    link: new Link({
      dial() {
        const socket = new WebSocket(`ws://127.0.0.1:${port}`, SUBPROTOCOL)
        // Browsers report a failure only by the close event.
        socket.on('error', () => {})
        return socket as unknown as LinkSocket
      },
      onConnectFailed() {
        opened.refusals++
      },
      ...options,
    }),
    sockets,
    received: '',
    refusals: 0,
    async start() {
      server = new WebSocketServer({ host: '127.0.0.1', port })
      server.on('connection', (socket) => {
        sockets.push(socket)
        socket.on('message', (data: Buffer) => {
          opened.received += data.toString('latin1')
        })
      })
      await once(server, 'listening')
      port = (server.address() as AddressInfo).port
    },
    async stop() {
      for (const socket of server!.clients) socket.terminate()
      await new Promise((resolve) => server!.close(resolve))
    },
  }
  await opened.start()
  t.teardown(async () => {
    opened.link.close()
    await opened.stop()
  })
  return opened
}

/** Sends GOAWAY, so that the page must make new calls on another connection. */
function sendGoaway(socket: ServerSocket): void {
  const goaway = formatCredit(0, 1)
  goaway[4] = GOAWAY
  socket.send(goaway)
}

/** Resolves when the link is in a state. */
function waitForState({ link }: Opened, expected: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = link.state.subscribe((state) => {
      if (state !== expected) return
      queueMicrotask(() => stop())
      resolve()
    })
  })
}

t.test('calls wait for the first connection', async (t) => {
  const opened = await open(t)
  t.equal(opened.link.state.value, 'connecting')
  await t.rejects(opened.link.call(HELLO), { code: 401 }, 'the link is not open yet')
  opened.link.open()
  await opened.link.call(HELLO)
  t.equal(opened.link.state.value, 'open')
  t.equal(opened.link.opened.value, 1)
})

t.test('a lost connection fails its calls with 503, and the link reconnects', async (t) => {
  const opened = await open(t)
  const { link } = opened
  link.open()
  const call = await link.call(HELLO)
  await opened.stop()
  await t.rejects(call.next(), { code: 503, isLoss: true })
  await waitForState(opened, 'lost')
  await opened.start()
  await waitForState(opened, 'open')
  t.equal(link.opened.value, 2)
  await link.call(HELLO)
})

t.test('a call waits for a reconnect until its timeout or abort', async (t) => {
  const opened = await open(t, { waitMs: 60_000 })
  const { link } = opened
  link.open()
  await waitForState(opened, 'open')
  await opened.stop()
  await waitForState(opened, 'lost')
  const waiting = link.call({ ...HELLO, timeoutMs: 60_000 })
  await eventually(async () => opened.refusals > 1)
  await t.rejects(link.call({ ...HELLO, timeoutMs: 1 }), { code: 503, isLoss: true })
  const controller = new AbortController()
  const pending = link.call(HELLO, controller.signal)
  controller.abort()
  await t.rejects(pending, { code: 499 })
  await opened.start()
  t.notOk((await waiting).isSettled)
})

t.test('a call without a timeout waits for a connection for a limited time', async (t) => {
  const opened = await open(t, { waitMs: 1 })
  await opened.stop()
  opened.link.open()
  await t.rejects(opened.link.call(HELLO), { code: 503, isLoss: true })
  await opened.start()
})

t.test('time spent waiting for a connection reduces the timeout of a call', async (t) => {
  const opened = await open(t)
  opened.link.open()
  const call = await opened.link.call({ ...HELLO, timeoutMs: 60_000 })
  await eventually(async () => opened.received.length >= HEADER_BYTES + 4)
  const remainingMs = readU32(Buffer.from(opened.received, 'latin1'), HEADER_BYTES)
  t.ok(remainingMs > 0 && remainingMs < 60_000, `${remainingMs} ms`)
  call.cancel(new CallError('greeter', 499, 'cancelled'))
})

t.test('a connection attempt that hangs is retried', async (t) => {
  const server = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
  const sockets: Socket[] = []
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const link = new Link({
    dial() {
      const socket = new WebSocket(`ws://127.0.0.1:${port}`, SUBPROTOCOL)
      socket.on('error', () => {})
      return socket as unknown as LinkSocket
    },
    onConnectFailed() {},
    dialMs: 20,
  })
  t.teardown(() => {
    link.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  link.open()
  await eventually(async () => sockets.length > 1)
})

t.test('after GOAWAY, new calls use another connection, and earlier calls continue', async (t) => {
  const opened = await open(t)
  const { link, sockets } = opened
  link.open()
  const call = await link.call(HELLO)
  sendGoaway(sockets[0]!)
  await waitForState(opened, 'lost')
  await link.call(HELLO)
  t.equal(sockets.length, 2)
  t.notOk(call.isSettled)
})

t.test('a silent server is probed with Debug.Health, then the link reconnects', async (t) => {
  const opened = await open(t, { silenceMs: 20 })
  opened.link.open()
  const call = await opened.link.call(HELLO)
  await t.rejects(call.next(), { code: 503, isLoss: true })
  await eventually(async () => opened.received.includes('registryDebug.Health'))
  await eventually(async () => opened.link.opened.value > 1)
})

t.test('a silent server after GOAWAY is dropped without a probe', async (t) => {
  const opened = await open(t, { silenceMs: 20 })
  const { link, sockets } = opened
  link.open()
  const call = await link.call(HELLO)
  sendGoaway(sockets[0]!)
  await t.rejects(call.next(), { code: 503, isLoss: true })
  t.notMatch(opened.received, /Debug\.Health/, 'the connection accepts no new calls')
})

t.test('a protocol violation closes the connection, and the next call opens another', async (t) => {
  const opened = await open(t)
  const { link, sockets } = opened
  link.open()
  const call = await link.call(HELLO)
  sockets[0]!.send('text')
  await t.rejects(call.next(), { code: 503, isLoss: true })
  await link.call(HELLO)
  t.equal(sockets.length, 2)
})

t.test('close fails pending calls with 503, and later calls with 401 until open', async (t) => {
  const opened = await open(t)
  opened.link.open()
  const remaining = await opened.link.call(HELLO)
  sendGoaway(opened.sockets[0]!)
  await waitForState(opened, 'lost')
  const call = await opened.link.call(HELLO)
  opened.link.close()
  await t.rejects(remaining.next(), { code: 503 }, 'even on a connection after GOAWAY')
  await t.rejects(call.next(), { code: 503 })
  await t.rejects(opened.link.call(HELLO), { code: 401 })
  opened.link.open()
  await opened.link.call(HELLO)
  t.equal(opened.sockets.length, 3)
})
