import t from 'tap'
import { countFailed, measureRestarts } from '../../bench/restart/measure-restarts.ts'

// Few restarts: `npm run bench restart` performs more. Most of a restart is half a second for accepting pending
// connections, plus the start of each process.
const KINDS = [
  { listener: 'uws', workers: 1, restarts: 4 },
  { listener: 'uws', workers: 2, restarts: 2 },
  { listener: 'node', workers: 1, restarts: 3 },
] as const

for (const kind of KINDS) {
  const { listener, workers, restarts } = kind
  t.test(
    `${listener}: ${restarts} restarts of ${workers} workers under constant load lose no request`,
    async (t) => {
      const restarted = await measureRestarts({ ...kind, rate: 75 })
      t.same(countFailed(restarted), {}, 'every request got a response with status 200')
      const { keepAlive, single, http2 } = restarted
      t.ok(
        keepAlive.replies > restarts * 30,
        `${keepAlive.replies} responses over keep-alive connections`,
      )
      t.ok(single.sent > restarts * 30, `${single.sent} requests over one connection each`)
      t.ok(
        http2.sent > restarts * 30,
        `${http2.sent} over HTTP/2, ${http2.retriedCount} of them retried`,
      )
      t.ok(http2.connections > restarts, `over ${http2.connections} connections`)
    },
  )
}
