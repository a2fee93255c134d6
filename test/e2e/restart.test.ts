import t from 'tap'
import { countFailed, measureRestarts } from '../../bench/restart/measure-restarts.ts'

// 20 in all. What a restart takes is mostly the half second in which connections that begin are let in.
const KINDS = [
  { listener: 'uws', workers: 1, restarts: 8 },
  { listener: 'uws', workers: 2, restarts: 6 },
  { listener: 'node', workers: 1, restarts: 6 },
] as const

for (const kind of KINDS) {
  const { listener, workers, restarts } = kind
  t.test(
    `${listener}: ${restarts} restarts of ${workers} workers under constant load lose no request`,
    async (t) => {
      const restarted = await measureRestarts({ ...kind, rate: 150 })
      t.same(countFailed(restarted), {}, 'none was left without an answer, or had another than 200')
      const { kept, single } = restarted
      t.ok(kept.replies > restarts * 50, `${kept.replies} were answered over kept connections`)
      t.ok(single.sent > restarts * 50, `${single.sent} over a connection each`)
    },
  )
}
