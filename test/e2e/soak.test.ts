import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { LISTENERS, openGateway } from '../fixtures/gateway.ts'
import { listen } from '../fixtures/listen.ts'
import { countFiles } from '../fixtures/process-memory.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'

const CONNECTIONS = 64
const REQUESTS = 20_000
const GROWTH_MAX = 3 * 1024 ** 2

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Heap size after garbage collection. */
async function heapBytes(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}

/** Sends `total` requests over {@link CONNECTIONS} connections, each after the previous response. */
async function sendRequests(port: number, total: number): Promise<void> {
  let remaining = total
  const run = async () => {
    const socket = connect(port, '127.0.0.1')
    const text = 'GET /app/soak HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\n\r\n'
    let received = ''
    const next = () => {
      if (remaining-- > 0) socket.write(text)
      else socket.end()
    }
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1')
      if (!received.endsWith('{"ok":true}')) return
      if (!received.startsWith('HTTP/1.1 200 ')) throw new Error(`unexpected reply: ${received}`)
      received = ''
      next()
    })
    next()
    await once(socket, 'close')
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, run))
}

for (const [name, listener] of Object.entries(LISTENERS)) {
  t.test(
    `${REQUESTS} requests over ${CONNECTIONS} connections leak no files or memory on ${name}`,
    async (t) => {
      const backend = createServer({ keepAlive: true }, (_req, res) => {
        res.setHeader('content-type', 'application/json')
        res.end('{"ok":true}')
      })
      const port = await listen(t, backend)
      const gateway = await openGateway(
        t,
        { app: [port] },
        { listener, pool: { keepAliveMs: 300 } },
      )
      const settled = () =>
        waitUntil(() => gateway.listener.connections === 0 && gateway.gateway.inFlight === 0)
      const upstream = await gateway.directory.find('go.mx.api.app')
      const unused = () => waitUntil(() => upstream!.nodes.every(({ pool }) => pool.size === 0))

      await sendRequests(gateway.port, 5000)
      await settled()
      await unused()
      const files = countFiles()
      const heap = await heapBytes()
      await sendRequests(gateway.port, REQUESTS)
      await settled()
      await unused()
      await waitUntil(() => countFiles() <= files)
      t.equal(countFiles(), files, 'open files')
      const growth = (await heapBytes()) - heap
      t.ok(growth < GROWTH_MAX, `${growth} bytes more on the heap`)
      t.ok(upstream!.nodes.every(({ active }) => active === 0))
    },
  )
}
