// Tests beyond the contract of listeners (test/contracts/listener.ts).
import t from 'tap'
import type { Exchange } from '../../../../core/exchange.ts'
import { createUwsListener } from '../../../../core/listener/uws/listener.ts'
import { openListener } from '../../../fixtures/open-listener.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { RawClient } from '../../../fixtures/raw-client.ts'

/** Far more than the socket buffers of a client that does not read. */
const LONG = Array.from({ length: 2_000_000 }, (_, i) => `line ${i}\n`).join('')

for (const isStream of [false, true]) {
  const description = isStream ? 'a stream without a length' : 'a long response'
  t.test(
    `${description} that closes its connection ends once the client has received it`,
    async (t) => {
      const { port, served, gateway, listener } = await openListener(t, createUwsListener, (x) => {
        if (x.method === 'GET') return x.reply(200, 'ok')
        if (!isStream) return x.reply(200, LONG)
        x.start(200, x.replyHeaders, -1)
        x.write(Buffer.from(LONG))
        x.end()
      })
      const client = new RawClient(port)
      await client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n').replies(1)
      client.socket.pause()
      // From now on, every response closes its connection.
      listener.drain()
      client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n')
      await waitUntil(() => served.length === 2)
      const idle = gateway.idle()
      client.socket.resume()
      await idle
      await listener.close()
      await client.ended()
      t.ok(toBody(client.text.slice(client.text.lastIndexOf('HTTP/1.1 200'))) === LONG)
    },
  )
}

t.test('a slow client receives the last chunk after the response has ended', async (t) => {
  const piece = Buffer.alloc(5000, 'x')
  /** Fills the socket, then sends up to `most` chunks until it is full again; returns their number. */
  const send = async (count: number): Promise<number> => {
    let isFirst = true
    let pieces = 0
    const { port, served, gateway, listener } = await openListener(t, createUwsListener, (x) => {
      const fill = () => {
        for (;;) {
          if (!isFirst && pieces === count) return x.end()
          if (!isFirst) pieces++
          if (x.write(piece)) continue
          if (!isFirst) x.end()
          isFirst = false
          return
        }
      }
      x.start(200, x.replyHeaders, -1)
      x.pipeTo({ onRequestBody: () => {}, onAbort: () => {}, onDrain: fill })
      fill()
    })
    const client = new RawClient(port)
    client.socket.pause()
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await waitUntil(() => served.length === 1 && !isFirst)
    const closed = gateway.idle().then(() => listener.close())
    // Reads just enough for the socket to accept more.
    const take = () => {
      if (pieces === 0) setImmediate(take)
      if (pieces === 0) client.socket.resume()
      else client.socket.pause()
    }
    take()
    await waitUntil(() => pieces > 0)
    if (count === Number.POSITIVE_INFINITY) t.equal(served[0]!.finished, false)
    await new Promise((resolve) => setImmediate(resolve))
    client.socket.resume()
    await closed
    await client.ended()
    t.ok(client.text.endsWith('\r\n0\r\n\r\n'), `${count} pieces`)
    return pieces
  }
  const largestFit = await send(Number.POSITIVE_INFINITY)
  for (let difference = -1; difference < 6; difference++) await send(largestFit - difference)
})

/** Body of a response, chunked or not. */
function toBody(reply: string): string {
  const end = reply.indexOf('\r\n\r\n')
  if (!/\r\ntransfer-encoding: chunked/i.test(reply.slice(0, end))) return reply.slice(end + 4)
  const pieces: string[] = []
  for (let at = end + 4; ; ) {
    const line = reply.indexOf('\r\n', at)
    const size = Number.parseInt(reply.slice(at, line), 16)
    if (!(size > 0)) return pieces.join('')
    pieces.push(reply.slice(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}

for (const isAnnounced of [false, true]) {
  const description = isAnnounced ? 'a response of known length' : 'a stream'
  t.test(
    `${description} whose last chunk fills the socket ends once the client has received it`,
    async (t) => {
      const piece = Buffer.alloc(5000, 'x')
      /** Sends up to `most` chunks until the socket is full; returns their number. */
      const send = async (count: number): Promise<number> => {
        let pieces = 0
        const { port, served, gateway, listener } = await openListener(
          t,
          createUwsListener,
          (x) => {
            x.start(200, x.replyHeaders, isAnnounced ? count * piece.length : -1)
            x.pipeTo({ onRequestBody: () => {}, onAbort: () => {}, onDrain: () => x.end() })
            listener.drain()
            while (pieces < count) {
              pieces++
              if (!x.write(piece)) return
            }
            x.end()
          },
        )
        const client = new RawClient(port)
        client.socket.pause()
        client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
        await waitUntil(() => served.length === 1 && pieces > 0)
        const closed = gateway.idle().then(() => listener.close())
        await new Promise((resolve) => setImmediate(resolve))
        client.socket.resume()
        await closed
        await client.ended()
        const isComplete = client.text.split('x').length - 1 === count * piece.length
        if (pieces === count) t.ok(isComplete, `${count} pieces`)
        return pieces
      }
      const largestFit = await send(20_000)
      for (let difference = -1; difference < 6; difference++) await send(largestFit - difference)
    },
  )
}

t.test('rejects a chunked body beyond the limit with 413 while a handler reads it', async (t) => {
  const read = async (x: Exchange): Promise<void> => {
    x.bodyLimit = 3
    x.reply(200, await x.readBody())
  }
  const { port } = await openListener(t, createUwsListener, read)
  const client = new RawClient(port)
  client.send(
    'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n0\r\n\r\n',
  )
  await client.ended()
  t.match(client.text, /^HTTP\/1\.1 413 /)
})
