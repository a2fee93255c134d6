import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Plugin } from '../../../core/chain.ts'
import type { Exchange } from '../../../core/exchange.ts'
import type { UpstreamNode } from '../../../core/upstream/node/upstream-node.ts'
import { clock } from '../../../lib/time/coarse-clock.ts'
import { LISTENERS, openGateway } from '../../fixtures/gateway.ts'
import { openRawBackend, tick, waitUntil } from '../../fixtures/raw-backend.ts'
import { RawClient, statusCodes } from '../../fixtures/raw-client.ts'
import type { Teardown } from '../../fixtures/teardown.ts'

const CHUNKED = 'POST /app HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n'
const GET = 'GET /app HTTP/1.1\r\nHost: a.test\r\n\r\n'

/** A backend that responds with the received body. */
interface Echo {
  readonly port: number
  readonly server: Server
  /** Number of received upload heads. */
  uploads: number
}

async function openEcho(t: Teardown): Promise<Echo> {
  const server = createServer((req, res) => {
    if (req.method === 'POST') echo.uploads++
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('error', () => {})
    req.on('end', () => res.end(Buffer.concat(chunks)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const echo: Echo = { port: (server.address() as AddressInfo).port, server, uploads: 0 }
  t.teardown(() => closeServer(echo))
  return echo
}

/** Closes connections and port immediately. */
function closeServer({ server }: Echo): void {
  server.closeAllConnections()
  server.close()
}

/** Records and forwards exchanges; blocks them after `hold()`. */
function createRecorder() {
  const exchanges: Exchange[] = []
  let gate: Promise<void> | undefined
  let release: () => void = () => {}
  const plugin: Plugin = {
    name: 'test-recorder',
    onRoute: (x) => {
      exchanges.push(x)
      return gate
    },
  }
  return {
    exchanges,
    plugin,
    block: () => {
      gate = new Promise((resolve) => {
        release = resolve
      })
    },
    release: () => {
      gate = undefined
      release()
    },
    node: (): UpstreamNode => exchanges[0]!.upstream!.nodes[0]!,
  }
}

function pass(ms: number, node: UpstreamNode): void {
  clock.nowMs = performance.now() + ms
  node.pool.sweep()
  clock.nowMs = performance.now()
}

for (const [name, listener] of Object.entries(LISTENERS)) {
  for (const pending of [0, 4]) {
    const titleSuffix = pending === 0 ? '' : ' with queued requests'
    t.test(
      `${name}: an upload whose keep-alive connection closes is sent to another node or fails with 502${titleSuffix}`,
      async (t) => {
        const pool = pending === 0 ? {} : { maxConnections: 1 }
        // The first chunk arrives before, during and after the search for another connection.
        for (let ticks = 0; ticks < 6; ticks++) {
          const echoes = [await openEcho(t), await openEcho(t)]
          const recorder = createRecorder()
          const { port } = await openGateway(
            t,
            { app: echoes.map((echo) => echo.port) },
            { listener, pool, plugins: [recorder.plugin] },
          )
          const first = new RawClient(port)
          for (let i = 1; i <= 2; i++) await first.send(GET).replies(i)
          const { exchanges } = recorder
          exchanges.length = 0
          recorder.block()
          const client = new RawClient(port).send(CHUNKED)
          await waitUntil(() => exchanges.length === 1)
          const queuedRequests = Array.from({ length: pending }, () =>
            new RawClient(port).send(GET),
          )
          await waitUntil(() => exchanges.length === 1 + pending)
          const upload = exchanges[0]!
          recorder.release()
          // Runs after the promises that forward the requests, when the connection has not yet written the head.
          process.nextTick(() => {
            closeServer(echoes.find((echo) => upload.node.endsWith(`:${echo.port}`))!)
          })
          for (let i = 0; i < ticks; i++) await tick()
          client.send('5\r\nfirst\r\n')
          await waitUntil(() => upload.finished || echoes.some((echo) => echo.uploads > 0))
          if (!upload.finished) client.send('6\r\nsecond\r\n0\r\n\r\n')
          await waitUntil(() => upload.finished)
          if (upload.status === 502) t.pass('502')
          else {
            await client.waitUntil(() => /second/.test(client.text))
            t.match(
              client.text,
              /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)+firstsecond$/,
              `after ${ticks} ticks`,
            )
          }
          for (const get of queuedRequests)
            await get.waitUntil(() => statusCodes(get.text).length > 0)
          t.strictSame(
            exchanges[0]!.upstream!.nodes.map(({ active }) => active),
            [0, 0],
          )
          for (const each of [first, client, ...queuedRequests]) each.destroy()
        }
      },
    )
  }

  t.test(`${name}: an upload that fails before it gets a connection is never sent`, async (t) => {
    let isPending = true
    const backend = await openRawBackend(t, {
      onRequest: (server) => {
        if (!isPending) server.reply()
      },
    })
    const recorder = createRecorder()
    const limit: Plugin = {
      name: 'test-limit',
      onRequest: (x) => {
        x.bodyLimit = 5
      },
    }
    const { port, gateway } = await openGateway(
      t,
      { app: [backend.port] },
      { listener, pool: { maxConnections: 1 }, plugins: [recorder.plugin, limit] },
    )
    const first = new RawClient(port).send(GET)
    await (await backend.connection()).request()

    const disconnecting = new RawClient(port)
    disconnecting.send('POST /app HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n')
    await waitUntil(() => recorder.exchanges.length === 2)
    disconnecting.destroy()
    await waitUntil(() => recorder.exchanges[1]!.finished)
    t.equal(recorder.exchanges[1]!.aborted, true)
    t.equal(recorder.node().active, 1)

    const long = new RawClient(port).send(CHUNKED)
    await waitUntil(() => recorder.exchanges.length === 3)
    long.send('6\r\n123456\r\n')
    await waitUntil(() => recorder.exchanges[2]!.finished)
    t.equal(recorder.exchanges[2]!.status, 413)
    t.equal(recorder.node().active, 1)

    isPending = false
    backend.connections[0]!.reply()
    await first.replies(1)
    await first.send(GET).replies(2)
    await gateway.idle()
    t.equal(recorder.node().active, 0)
    t.equal(recorder.node().failures.consecutive, 0)
    t.strictSame(
      backend.connections.map(({ text }) => text.match(/^[A-Z]+(?= \/)/gm)),
      [['GET', 'GET']],
    )
    for (const client of [first, disconnecting, long]) client.destroy()
  })

  t.test(`${name}: a slow client does not count as a failure of the backend`, async (t) => {
    const backend = await openRawBackend(t)
    const recorder = createRecorder()
    const { port } = await openGateway(
      t,
      { app: [backend.port] },
      {
        listener,
        pool: { timeouts: { connectMs: 5000, replyMs: 1000, idleMs: 1000 } },
        plugins: [recorder.plugin],
      },
    )
    for (const [i, [head, ...pieces]] of [
      ['POST /app HTTP/1.1\r\nHost: a.test\r\nContent-Length: 6\r\n\r\n', 'one', 'two'],
      [CHUNKED, '3\r\none\r\n', '3\r\ntwo\r\n0\r\n\r\n'],
    ].entries()) {
      const client = new RawClient(port).send(head!)
      const server = await backend.connection(i)
      await server.request()
      const node = recorder.node()
      pass(60_000, node)
      client.send(pieces[0]!)
      await server.waitUntil(() => server.text.includes('one'))
      pass(60_000, node)
      t.equal(recorder.exchanges[i]!.answered, false)
      client.send(pieces[1]!)
      await server.waitUntil(() => server.text.includes('two'))
      t.equal(node.failures.consecutive, 0)
      if (i === 0) server.reply('ok', '200 OK', 'Connection: close')
      else pass(60_000, node)
      await client.replies(1)
      t.strictSame(statusCodes(client.text), [i === 0 ? 200 : 504], '504 once the backend is slow')
      t.equal(node.failures.consecutive, i)
      client.destroy()
    }
  })
}
