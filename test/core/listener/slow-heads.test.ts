import t from 'tap'
import { createNodeListener } from '../../../core/listener/node.ts'
import { createUwsListener } from '../../../core/listener/uws.ts'
import { openListener } from '../../fixtures/open-listener.ts'
import { RawClient, statusCodes } from '../../fixtures/raw-client.ts'

/** Both limits are ten seconds, looked at every few. */
const CUT_MS = 15_000

// All at once: each takes as long as the limit.
t.jobs = 2
for (const [name, create] of [
  ['uws', createUwsListener],
  ['node', createNodeListener],
] as const) {
  t.test(`${name}: a client that drips its head, or sends none, is cut`, async (t) => {
    const { port, served } = await openListener(t, create, (x) => x.reply(200, 'ok'))
    const startMs = performance.now()
    const silent = new RawClient(port)
    const dripping = new RawClient(port)
    dripping.send('GET / HTTP/1.1\r\nHost: a.test\r\n')
    const reused = new RawClient(port)
    await reused.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n').replies(1)
    reused.send('GET / HTTP/1.1\r\n')
    const drip = setInterval(() => {
      for (const client of [dripping, reused]) if (!client.closed) client.send('X-A: 1\r\n')
    }, 500)
    await Promise.all([silent, dripping, reused].map((client) => client.ended()))
    clearInterval(drip)
    const tookMs = performance.now() - startMs
    t.ok(tookMs < CUT_MS, `cut after ${Math.round(tookMs)} ms`)
    t.equal(served.length, 1)
    t.equal(silent.text, '')
    t.notOk(statusCodes(dripping.text).includes(200))
    t.equal(statusCodes(reused.text).filter((status) => status === 200).length, 1)
  })
}
