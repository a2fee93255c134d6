import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { Exchange } from '../../../../core/exchange.ts'
import { createNodeListener } from '../../../../core/listener/node/listener.ts'
import { createUwsListener } from '../../../../core/listener/uws/listener.ts'
import { openListener } from '../../../fixtures/open-listener.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { RawClient, statusCodes } from '../../../fixtures/raw-client.ts'

/** Longer than the timers of µWebSockets, which are about ten seconds. */
const LONG_MS = 14_000
const STEP_MS = 500
const PIECE = 'x'.repeat(120)
const PIECES = LONG_MS / STEP_MS

// Run concurrently, because each takes the same time.
t.jobs = 9
for (const [name, create] of [
  ['uws', createUwsListener],
  ['node', createNodeListener],
] as const) {
  t.test(`${name}: a slow but continuous upload is not aborted`, async (t) => {
    const { port } = await openListener(t, create, async (x) => {
      const body = await x.readBody()
      x.reply(200, String(body.length))
    })
    const withLength = new RawClient(port)
    const chunked = new RawClient(port)
    const length = PIECE.length * PIECES
    withLength.send(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${length}\r\n\r\n`)
    chunked.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n')
    for (let i = 0; i < PIECES; i++) {
      withLength.send(PIECE)
      chunked.send(`${PIECE.length.toString(16)}\r\n${PIECE}\r\n`)
      await delay(STEP_MS)
    }
    chunked.send('0\r\n\r\n')
    for (const client of [withLength, chunked]) {
      await client.waitUntil(({ text }) => text.endsWith(`\r\n\r\n${length}`))
      t.strictSame(statusCodes(client.text), [200])
    }
  })

  t.test(
    `${name}: an upload received while paused is not aborted, regardless of how long its response takes`,
    async (t) => {
      const { port } = await openListener(t, create, async (x) => {
        x.pauseBody()
        await delay(LONG_MS)
        x.reply(200, 'ok')
      })
      const client = new RawClient(port)
      // Sent in one chunk, so that the bytes after the head arrive with it.
      const head = 'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n'
      client.send(`${head}5\r\nhello\r\n0\r\n\r\n`)
      await client.waitUntil(({ text }) => text.endsWith('\r\n\r\nok'))
      t.strictSame(statusCodes(client.text), [200])
    },
  )
}

/** Far more than socket buffers hold for a client that does not read. */
const LARGE = Buffer.alloc(16 * 1024 * 1024, 'a')

for (const [kind, request, send] of [
  ['in one piece', 'GET / HTTP/1.1\r\n', (x: Exchange) => x.reply(200, LARGE)],
  ['in pieces', 'GET / HTTP/1.1\r\n', (x: Exchange) => stream(x, LARGE.length)],
  ['of unknown length', 'GET / HTTP/1.1\r\n', (x: Exchange) => stream(x, -1)],
  ['that closes its connection', 'POST / HTTP/1.1\r\n', (x: Exchange) => x.reply(200, LARGE)],
] as const) {
  t.test(`uws: a response ${kind} waits for a client that pauses reading`, async (t) => {
    const { port, served } = await openListener(t, createUwsListener, send)
    const client = new RawClient(port)
    client.socket.pause()
    client.send(`${request}Host: a.test\r\n\r\n`)
    await delay(LONG_MS)
    client.socket.resume()
    await waitUntil(() => served[0]!.finished)
    t.equal(served[0]!.aborted, false)
    t.equal(served[0]!.bytesOut, LARGE.length)
  })
}

/** Sends {@link LARGE} as fast as its client reads it. */
function stream(x: Exchange, length: number): void {
  let at = 0
  const send = (): void => {
    while (at < LARGE.length) {
      const piece = LARGE.subarray(at, at + 64 * 1024)
      at += piece.length
      if (!x.write(piece)) return
    }
    x.end()
  }
  x.setPeer({ onRequestBody: () => {}, onDrain: send, onAbort: () => {} })
  x.start(200, x.replyHeaders, length)
  send()
}

t.test("uws: a client stream may be silent for longer than the library's timeout", async (t) => {
  const { port } = await openListener(t, createUwsListener, async (x) => {
    x.allowsIdleBody = true
    const body = await x.readBody()
    x.reply(200, String(body.length))
  })
  const client = new RawClient(port)
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
  await delay(LONG_MS)
  client.send('0\r\n\r\n')
  await client.waitUntil(({ text }) => text.endsWith('\r\n\r\n5'))
  t.strictSame(statusCodes(client.text), [200])
})
