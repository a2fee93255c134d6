import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startMx } from '../fixtures/mx.ts'
import { readPeakRss, readRss, resetPeak } from '../fixtures/process-memory.ts'
import { openRawBackend, tick } from '../fixtures/raw-backend.ts'

const BYTES = 384 * 1024 ** 2
const WARM_UP_BYTES = 64 * 1024 ** 2
const MAX_GROWTH_BYTES = 64 * 1024 ** 2
/** Sent repeatedly, so that neither side generates bytes. */
const PIECE = Buffer.alloc(1024 ** 2, 'volume')

/**
 * Minimum time per piece in milliseconds, as in a network of 4 Gbit/s, which the machine can handle. µWebSockets
 * continues to read while paused if a client fills its 512 KiB buffer faster than it is processed, as a local client
 * can. Memory then grows by the surplus, occasionally by about 100 MiB.
 */
const PIECE_MS = 2

/** Writes `size` bytes as fast as they are accepted. */
async function writeChunks(socket: Socket, size: number): Promise<void> {
  for (let remaining = size; remaining > 0; remaining -= PIECE.length) {
    const startMs = performance.now()
    if (!socket.write(PIECE)) await once(socket, 'drain')
    while (performance.now() - startMs < PIECE_MS) await tick()
  }
}

if (process.platform !== 'linux') t.plan(0, 'memory is read from /proc')
else {
  for (const listener of ['uws', 'node']) {
    t.test(
      `transfers 384 MiB up and 384 MiB down through ${listener} at constant memory`,
      async (t) => {
        const folder = mkdtempSync(join(tmpdir(), 'volume-'))
        const backend = await openRawBackend(t, { isKeptAlive: false })
        const { child, url, ended } = startMx(
          [
            'api',
            '--address=127.0.0.1:0',
            '--handler=proxy',
            '--max_body=none',
            `--listener=${listener}`,
            `--backend=app=127.0.0.1:${backend.port}`,
          ],
          { cwd: folder },
        )
        t.teardown(async () => {
          child.kill('SIGKILL')
          await ended
          rmSync(folder, { recursive: true, force: true })
        })
        const port = Number(new URL(await url()).port)
        const pid = child.pid!

        const upload = async (size: number): Promise<number> => {
          const socket = connect(port, '127.0.0.1')
          const cut = once(socket, 'close').then(() =>
            Promise.reject(new Error('the upload was interrupted')),
          )
          const before = backend.connections.length
          socket.write(`POST /app HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${size}\r\n\r\n`)
          const server = await backend.connection(before)
          // Additional bytes belong to the head.
          const received = server.waitUntil(() => server.received > size)
          await Promise.race([writeChunks(socket, size).then(() => received), cut])
          server.send('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok')
          const [reply] = (await once(socket, 'data')) as [Buffer]
          t.match(reply.toString(), /^HTTP\/1\.1 200 /)
          cut.catch(() => {})
          socket.destroy()
          return server.received
        }
        const download = async (size: number, chunked: boolean): Promise<number> => {
          const socket = connect(port, '127.0.0.1')
          let received = 0
          const before = backend.connections.length
          socket.write('GET /app HTTP/1.1\r\nHost: a.test\r\n\r\n')
          const server = await backend.connection(before)
          server.send('HTTP/1.1 200 OK\r\nConnection: close\r\n')
          if (chunked) server.send(`Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n`)
          else server.send(`Content-Length: ${size}\r\n\r\n`)
          const allReceived = new Promise<void>((resolve, reject) => {
            socket.on('data', (chunk: Buffer) => {
              received += chunk.length
              if (received > size) resolve()
            })
            socket.on('close', () => reject(new Error(`closed after ${received} bytes`)))
          })
          await writeChunks(server.socket, size)
          if (chunked) server.send('\r\n0\r\n\r\n')
          await allReceived
          socket.destroy()
          return received
        }

        await upload(WARM_UP_BYTES)
        await download(WARM_UP_BYTES, false)
        const before = readRss(pid)
        for (const [description, run] of [
          ['up', () => upload(BYTES)],
          ['down', () => download(BYTES, listener === 'node')],
        ] as const) {
          resetPeak(pid)
          const startMs = performance.now()
          const bytes = await run()
          const seconds = (performance.now() - startMs) / 1000
          const growth = readPeakRss(pid) - before
          t.ok(bytes >= BYTES && bytes < BYTES * 1.01, `${description}: ${bytes} bytes`)
          t.ok(
            growth < MAX_GROWTH_BYTES,
            `${description}: ${Math.round(growth / 1024 ** 2)} MiB more at the peak`,
          )
          t.comment(
            `${description}: ${Math.round(bytes / 1024 ** 2 / seconds)} MiB/s, peak +${Math.round(growth / 1024 ** 2)} MiB`,
          )
        }
      },
    )
  }
}
