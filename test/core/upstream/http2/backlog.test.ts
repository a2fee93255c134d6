import { once } from 'node:events'
import { type ClientHttp2Stream, connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { hasRoom, StreamBacklog } from '../../../../core/upstream/http2/backlog.ts'

const KIB = 1024

/** Opens a stream to a server that collects the received data. */
async function openStream(
  t: Test,
): Promise<{ readonly stream: ClientHttp2Stream; readonly received: Promise<Buffer> }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const received = new Promise<Buffer>((resolve) => {
    server.on('stream', (stream) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        stream.respond()
        stream.end()
        resolve(Buffer.concat(chunks))
      })
    })
  })
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.teardown(() => {
    session.destroy()
    server.close()
  })
  return { stream: session.request({ ':method': 'POST' }), received }
}

for (const [title, sizes] of [
  ['one long chunk', [1000 * KIB]],
  ['many short chunks', Array.from({ length: 500 }, () => KIB)],
  ['chunks of several lengths, the last one empty', [1, 63 * KIB, 0, 200 * KIB, 64 * KIB, 3, 0]],
] as const)
  t.test(`${title}: sent completely in batches of at most 64 KiB`, async (t) => {
    const { stream, received } = await openStream(t)
    const body = Buffer.concat(sizes.map((size, i) => Buffer.alloc(size, `${i} `)))
    const backlog = new StreamBacklog()
    let at = 0
    for (const [i, size] of sizes.entries()) {
      backlog.add(body.subarray(at, at + size), i === sizes.length - 1)
      at += size
    }
    t.equal(backlog.bytes, body.length)
    stream.on('drain', () => backlog.send(stream))
    const maxBytes = Math.max(64 * KIB, stream.writableHighWaterMark)
    for (backlog.send(stream); backlog.bytes > 0; await once(stream, 'drain'))
      if (stream.writableLength > maxBytes) t.fail(`${stream.writableLength} bytes at a time`)
    t.ok((await received).equals(body))
  })

t.test('a stream has room for a total of at most 64 KiB', async (t) => {
  const { stream } = await openStream(t)
  t.equal(hasRoom(stream, 64 * KIB), true)
  t.equal(hasRoom(stream, 64 * KIB + 1), false)
  stream.write('x')
  t.equal(hasRoom(stream, 64 * KIB), false)
  stream.destroy()
})
