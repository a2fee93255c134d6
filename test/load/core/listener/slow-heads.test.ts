import t from 'tap'
import { createNodeListener } from '../../../../core/listener/node/listener.ts'
import { createUwsListener } from '../../../../core/listener/uws/listener.ts'
import { openListener } from '../../../fixtures/open-listener.ts'
import { RawClient, statusCodes } from '../../../fixtures/raw-client.ts'

/** Both limits are ten seconds, checked every few seconds. */
const CLOSE_MS = 15_000
const HEAD = 'GET / HTTP/1.1\r\nHost: a.test\r\n'
const CHUNKED = 'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n'

/** First bytes of a client, and the bytes that it sends twice a second afterwards. */
const DRIPS: readonly [description: string, start: string, piece: string, only?: 'uws'][] = [
  ['a request line', 'GET /', 'a'],
  ['a header name', HEAD, 'a'],
  ['a header value', `${HEAD}X-A: `, 'a'],
  ['headers', HEAD, 'X-A: 1\r\n'],
  ['empty lines', '', '\r\n'],
  ['a PROXY protocol header', '\r\n\r\n\0\r\nQUIT\n\x21\x11\x0f\xff', 'a'],
  // The limit of node is longer and equals the limit after a chunk, see slow-framing.test.ts.
  ['the size of the first chunk', CHUNKED, '0', 'uws'],
  // Sent at the rate that extends the library's limit for payload.
  ['the size of the first chunk, at 200 kB/s,', CHUNKED, '0'.repeat(100_000), 'uws'],
  ['no bytes of a chunked body', CHUNKED, '', 'uws'],
]

// Run concurrently, because each takes as long as the limit.
t.jobs = 2 * (DRIPS.length + 1)
for (const [name, create] of [
  ['uws', createUwsListener],
  ['node', createNodeListener],
] as const) {
  for (const [description, start, piece, only] of DRIPS) {
    if (only !== undefined && only !== name) continue
    t.test(
      `${name}: closes a client that drips ${description} within ${CLOSE_MS} ms`,
      async (t) => {
        const { port, served } = await openListener(t, create, () => {})
        const client = new RawClient(port).send(start)
        const drip = setInterval(() => client.closed || client.send(piece), 500)
        t.teardown(() => clearInterval(drip))
        const startMs = performance.now()
        await client.ended()
        const tookMs = performance.now() - startMs
        t.ok(tookMs < CLOSE_MS, `closed after ${Math.round(tookMs)} ms`)
        for (const x of served) t.equal(x.aborted, true)
      },
    )
  }

  t.test(`${name}: closes a silent client, and a client that drips its second head`, async (t) => {
    const { port, served } = await openListener(t, create, (x) => x.reply(200, 'ok'))
    const startMs = performance.now()
    const silent = new RawClient(port)
    const reused = new RawClient(port)
    await reused.send(`${HEAD}\r\n`).replies(1)
    reused.send('GET / HTTP/1.1\r\n')
    const drip = setInterval(() => reused.closed || reused.send('X-A: 1\r\n'), 500)
    t.teardown(() => clearInterval(drip))
    await Promise.all([silent.ended(), reused.ended()])
    const tookMs = performance.now() - startMs
    t.ok(tookMs < CLOSE_MS, `closed after ${Math.round(tookMs)} ms`)
    t.equal(served.length, 1)
    t.equal(silent.text, '')
    t.equal(statusCodes(reused.text).filter((status) => status === 200).length, 1)
  })
}
