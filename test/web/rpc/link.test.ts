import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type WebSocket as ServerSocket, WebSocket, WebSocketServer } from 'ws'
import type { CallOptions } from '../../../web/rpc/connection.ts'
import { formatCredit, toBody } from '../../../web/rpc/frames.ts'
import { Link, type LinkSocket } from '../../../web/rpc/link.ts'

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
  probes: number
}

/** A link to a server that answers nothing by itself. */
async function open(t: Test, silenceMs?: number, isAlive = true): Promise<Opened> {
  let server: WebSocketServer | undefined
  let port = 0
  const sockets: ServerSocket[] = []
  const opened: Opened = {
    link: new Link({
      dial() {
        const socket = new WebSocket(`ws://127.0.0.1:${port}`, SUBPROTOCOL)
        // Pages are told by the close alone.
        socket.on('error', () => {})
        return socket as unknown as LinkSocket
      },
      probe() {
        opened.probes++
        return isAlive ? Promise.resolve() : Promise.reject(new Error('gone'))
      },
      ...(silenceMs !== undefined && { silenceMs }),
    }),
    sockets,
    probes: 0,
    async start() {
      server = new WebSocketServer({ host: '127.0.0.1', port })
      server.on('connection', (socket) => sockets.push(socket))
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

/** Resolves when the link is in a state. */
function untilState({ link }: Opened, wanted: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = link.state.subscribe((state) => {
      if (state !== wanted) return
      queueMicrotask(() => stop())
      resolve()
    })
  })
}

t.test('calls wait for the first connection', async (t) => {
  const opened = await open(t)
  t.equal(opened.link.state.value, 'connecting')
  await t.rejects(opened.link.call(HELLO), { code: 401 }, 'nobody wants one yet')
  opened.link.open()
  await opened.link.call(HELLO)
  t.equal(opened.link.state.value, 'open')
  t.equal(opened.link.opened.value, 1)
})

t.test(
  'a lost connection fails its calls, and is opened again when the server is back',
  async (t) => {
    const opened = await open(t)
    const { link } = opened
    link.open()
    const call = await link.call(HELLO)
    await opened.stop()
    await t.rejects(call.next(), { code: 503, isLoss: true })
    await untilState(opened, 'lost')
    await t.rejects(link.call(HELLO), { code: 503 }, 'tried at once, and not for ever')
    await opened.start()
    await untilState(opened, 'open')
    t.equal(link.opened.value, 2)
    await link.call(HELLO)
  },
)

t.test('after GOAWAY new calls go over another connection, the old ones go on', async (t) => {
  const opened = await open(t)
  const { link, sockets } = opened
  link.open()
  const call = await link.call(HELLO)
  const goaway = formatCredit(0, 1)
  goaway[4] = 8
  sockets[0]!.send(goaway)
  await untilState(opened, 'lost')
  await link.call(HELLO)
  t.equal(sockets.length, 2)
  t.notOk(call.over)
})

t.test(
  'a server that says nothing is asked by other means, and given up where it is gone',
  async (t) => {
    const opened = await open(t, 20, false)
    opened.link.open()
    const call = await opened.link.call(HELLO)
    await t.rejects(call.next(), { code: 503, isLoss: true })
    t.equal(opened.probes, 1)
  },
)

t.test('a server that is only slow is not given up', async (t) => {
  const opened = await open(t, 20)
  opened.link.open()
  const call = await opened.link.call(HELLO)
  while (opened.probes < 3) await new Promise((resolve) => setImmediate(resolve))
  t.notOk(call.over)
})

t.test('a closed link fails its calls, and opens no more', async (t) => {
  const opened = await open(t)
  opened.link.open()
  const call = await opened.link.call(HELLO)
  opened.link.close()
  await t.rejects(call.next(), { code: 503 })
  await t.rejects(opened.link.call(HELLO), { code: 401 })
  opened.link.open()
  await opened.link.call(HELLO)
  t.equal(opened.sockets.length, 2)
})
