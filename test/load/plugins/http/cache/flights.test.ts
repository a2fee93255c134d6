import t from 'tap'
import {
  getCached,
  openCachedBackend,
  openCachingGateway,
} from '../../../../fixtures/caching-gateway.ts'
import { waitUntil } from '../../../../fixtures/raw-backend.ts'

for (const listener of ['uws', 'node']) {
  t.test(`${listener}: 1 000 simultaneous requests are one backend request`, async (t) => {
    let finish: (() => void) | undefined
    const backend = await openCachedBackend(t, (_request, response, count) => {
      finish = () => {
        response.writeHead(200, { 'cache-control': 'max-age=60' })
        response.end(`body ${count}`)
      }
    })
    const gateway = await openCachingGateway(t, backend, 'collapse_timeout: 60s', listener)
    const replies = Array.from({ length: 1000 }, () => getCached(gateway))
    await waitUntil(() => gateway.gateway.inFlight === 1000)
    finish!()
    for (const { status, text } of await Promise.all(replies))
      if (status !== 200 || text !== 'body 1') t.fail(`${status} ${text}`)
    t.equal(backend.received.length, 1)
  })
}
