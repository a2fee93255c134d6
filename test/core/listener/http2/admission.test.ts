import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants } from 'node:http2'
import t, { type Test } from 'tap'
import type { Step } from '../../../../core/chain.ts'
import { bodyMemory } from '../../../../core/limits/memory-budget.ts'
import { createNodeListener } from '../../../../core/listener/node/listener.ts'
import { FRAME, Http2Raw, toFrame, toRequest } from '../../../fixtures/http2-raw.ts'
import { openListener } from '../../../fixtures/open-listener.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

/** Opens a listener and connections that have received its settings. */
async function open(t: Test, connections: number, handle: Step) {
  const opened = await openListener(t, createNodeListener, handle, { http2: 'cleartext' })
  const sessions = await Promise.all(
    Array.from({ length: connections }, async () => {
      const session = connect(`http://127.0.0.1:${opened.port}`)
      t.teardown(() => session.destroy())
      await once(session, 'remoteSettings')
      return session
    }),
  )
  return { ...opened, sessions }
}

/** Sends a POST and resolves with its status, or the name of the reset. */
function post(session: ClientHttp2Session, body: string): Promise<number | string> {
  const stream = session.request({ ':method': 'POST', ':path': '/' })
  let status: number | string = 'none'
  stream.on('response', (headers) => {
    status = headers[':status']!
  })
  stream.on('error', () => {})
  stream.end(body)
  stream.resume()
  return new Promise((resolve) => {
    stream.on('close', () => {
      const isRejected = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM
      resolve(isRejected ? 'REFUSED_STREAM' : status)
    })
  })
}

t.test('starts about 64 requests of a burst per tick and responds to all of them', async (t) => {
  let ofTick = 0
  let maximum = 0
  const { sessions } = await open(t, 10, (x) => {
    if (ofTick++ === 0) setImmediate(() => (ofTick = 0))
    maximum = Math.max(maximum, ofTick)
    x.reply(200, '')
  })
  const all = await Promise.all(
    sessions.flatMap((session) => Array.from({ length: 100 }, () => post(session, 'hello'))),
  )
  t.same(new Set(all), new Set([200]))
  t.equal(all.length, 1000)
  // New and queued requests may run between two immediates of this test.
  t.ok(maximum <= 2 * 64, `${maximum} in one tick`)
})

t.test('rejects more than 1024 queued requests of one client with REFUSED_STREAM', async (t) => {
  const { sessions, gateway } = await open(t, 30, (x) => x.reply(200, ''))
  const all = await Promise.all(
    sessions.flatMap((session) => Array.from({ length: 100 }, () => post(session, 'hello'))),
  )
  const served = all.filter((result) => result === 200).length
  t.equal(all.filter((result) => result === 'REFUSED_STREAM').length, all.length - served)
  t.ok(served >= 1024, `${served} served`)
  t.ok(served < all.length, 'the other requests were rejected')
  t.equal(await post(sessions[0]!, 'hello'), 200, 'a retry is served')
  t.equal(gateway.inFlight, 0)
  await waitUntil(() => bodyMemory.usedBytes === 0)
})

t.test('rejects the largest queued requests when their bodies exceed max_buffered', async (t) => {
  const { maxBytes } = bodyMemory
  t.teardown(() => {
    bodyMemory.maxBytes = maxBytes
  })
  bodyMemory.maxBytes = 1024 * 1024
  const { sessions } = await open(t, 8, (x) => {
    // CPU work, so that other requests are queued for several ticks.
    const untilMs = performance.now() + 3
    while (performance.now() < untilMs);
    x.reply(200, '')
  })
  const body = 'x'.repeat(32 * 1024)
  const all = await Promise.all(
    sessions.flatMap((session) => Array.from({ length: 30 }, () => post(session, body))),
  )
  t.same([...new Set(all)].sort(), [200, 'REFUSED_STREAM'])
  await waitUntil(() => bodyMemory.usedBytes === 0)
})

t.test('closes each connection that cancels more queued requests than the limit', async (t) => {
  const { port, gateway } = await open(t, 0, (x) => x.reply(200, ''))
  const clients = Array.from({ length: 10 }, () => new Http2Raw(port))
  t.teardown(() => {
    for (const raw of clients) raw.destroy()
  })
  const cancel = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL])
  for (const raw of clients)
    for (let i = 0; i < 400; i++)
      raw.send(toFrame(FRAME.RST_STREAM, 0, raw.open(toRequest('/')), cancel))
  const reasons = clients.map(async (raw) => {
    const { payload } = await raw.waitUntil(({ type }) => type === FRAME.GOAWAY)
    return payload.readUInt32BE(4)
  })
  t.same(new Set(await Promise.all(reasons)), new Set([constants.NGHTTP2_ENHANCE_YOUR_CALM]))
  await waitUntil(() => gateway.inFlight === 0)
})
