import { once } from 'node:events'
import { type ClientHttp2Stream, connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { hasRoom, StreamBacklog } from '../../../../core/upstream/http2/backlog.ts'

const KIB = 1024

/** A stream to a server, and what that has received of it. */
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
  ['one long piece', [1000 * KIB]],
  ['many short ones', Array.from({ length: 500 }, () => KIB)],
  ['pieces of all lengths, the last one empty', [1, 63 * KIB, 0, 200 * KIB, 64 * KIB, 3, 0]],
] as const)
  t.test(`${title}: arrive whole, in batches of at most 64 KiB`, async (t) => {
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
    const most = Math.max(64 * KIB, stream.writableHighWaterMark)
    for (backlog.send(stream); backlog.bytes > 0; await once(stream, 'drain'))
      if (stream.writableLength > most) t.fail(`${stream.writableLength} bytes at a time`)
    t.ok((await received).equals(body))
  })

t.test('a stream has room for what makes no more than a batch', async (t) => {
  const { stream } = await openStream(t)
  t.equal(hasRoom(stream, 64 * KIB), true)
  t.equal(hasRoom(stream, 64 * KIB + 1), false)
  stream.write('x')
  t.equal(hasRoom(stream, 64 * KIB), false)
  stream.destroy()
})
