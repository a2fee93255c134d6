// Fault F2: clients flood a backend that does not read, and the memory of the gateway stays bounded.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { listenHttp } from '../fixtures/listen.ts'
import { startMx } from '../fixtures/mx.ts'
import { readPeakRss, readRss, resetPeak } from '../fixtures/process-memory.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const MIB = 1024 ** 2
const UPLOADS = 8
const UPLOAD_BYTES = 64 * MIB
const BUFFERED_MAX_BYTES = 16 * MIB
/** The budget, bytes that are freed late, and the compilation by V8. */
const GROWTH_MAX_BYTES = 6 * BUFFERED_MAX_BYTES
const PIECE = Buffer.alloc(MIB)
const GET_EVERY_MS = 10
/** Number of GETs without progress of an upload, after which all buffers are full. */
const QUIET_GETS = 30

/** Uploads as fast as the gateway reads. */
function upload(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.write(`POST /app HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${UPLOAD_BYTES}\r\n\r\n`)
  const send = (): void => {
    while (socket.writable && socket.bytesWritten < UPLOAD_BYTES && socket.write(PIECE));
  }
  socket
    .on('error', () => {})
    .on('drain', send)
    .resume()
  send()
  return socket
}

if (process.platform !== 'linux') t.plan(0, 'memory is read from /proc')
else
  for (const listener of ['uws', 'node'])
    t.test(`${listener}: uploads that a backend does not read take bounded memory`, async (t) => {
      const backendPort = await listenHttp(t, (request, response) => {
        if (request.method === 'GET') response.end('ok')
      })
      const { child, url, ended } = startMx(
        [
          ...['api', '--address=127.0.0.1:0', '--handler=proxy', `--listener=${listener}`],
          ...[`--max_buffered=${BUFFERED_MAX_BYTES}`, `--backend=app=127.0.0.1:${backendPort}`],
        ],
        { cwd: makeTempFolder(t, 'slow-backend') },
      )
      t.teardown(async () => {
        child.kill('SIGKILL')
        await ended
      })
      const origin = await url()
      const get = async (): Promise<number> => (await fetch(`${origin}/app`)).status
      for (let i = 0; i < 100; i++) await get()
      const pid = child.pid!
      const beforeBytes = readRss(pid)
      resetPeak(pid)

      const clients = Array.from({ length: UPLOADS }, () => upload(Number(new URL(origin).port)))
      t.teardown(() => {
        for (const client of clients) client.destroy()
      })
      await Promise.all(clients.map((client) => once(client, 'connect')))
      const countSent = (): number =>
        clients.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0)
      for (let quietGets = 0, sent = 0; quietGets < QUIET_GETS; ) {
        t.equal(await get(), 200)
        await delay(GET_EVERY_MS)
        quietGets = countSent() === sent ? quietGets + 1 : 0
        sent = countSent()
      }
      const grownBytes = readPeakRss(pid) - beforeBytes
      t.ok(grownBytes < GROWTH_MAX_BYTES, `${Math.round(grownBytes / MIB)} MiB more`)
    })
