import t from 'tap'
import {
  fromTime,
  toConsumerStart,
} from '../../../../../adapters/events/jetstream/consumers/start.ts'
import { toTopicNames } from '../../../../../adapters/events/jetstream/names.ts'
import { JET_TOPIC, makeEvent, startJetStream, toAppends } from '../../../../fixtures/jetstream.ts'

const NAMES = toTopicNames('mx', JET_TOPIC)
const HOUR_MS = 3_600_000
const toTime = (text: string | undefined): number => Date.parse(text!)

t.test('starts a group at a fixed position', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  await server.openEvents().append(toAppends('a', 'b'))
  const session = await server.openSessions().open()
  const start = (from: object) => toConsumerStart(session, NAMES, from, Date.now())
  t.same(await start({}), { deliver_policy: 'by_start_sequence', opt_start_seq: 3 })
  t.same(await start({ sequence: 9 }), { deliver_policy: 'by_start_sequence', opt_start_seq: 9 })
  const nowMs = Date.now()
  const { deliver_policy, opt_start_time } = await start({ sinceMs: nowMs + HOUR_MS })
  t.equal(deliver_policy, 'by_start_time')
  t.ok(toTime(opt_start_time) < nowMs, 'never in the future')
})

t.test('finds events with future timestamps by time', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  const nowMs = Date.now()
  const ahead = makeEvent('ahead', { timestampMs: nowMs + HOUR_MS })
  await events.append([...toAppends('a'), { topic: JET_TOPIC, event: ahead }, ...toAppends('b')])
  // Half an hour later, all other events are in the past.
  const later = server.openEvents({ nowMs: () => nowMs + HOUR_MS / 2 })
  const read = async (sinceMs: number) => {
    const range = { from: 1, sinceMs, limit: 100, maxBytes: 1e6 }
    return (await later.read(JET_TOPIC, range)).events.map(({ sequence }) => sequence)
  }
  t.same(await read(nowMs + HOUR_MS / 4), [2])
  t.same(await read(nowMs + 2 * HOUR_MS), [])
  t.same(await read(0), [1, 2, 3])
  const session = await server.openSessions().open()
  t.same(await fromTime(session, NAMES, nowMs + HOUR_MS / 4, nowMs + HOUR_MS / 2), {
    deliver_policy: 'by_start_sequence',
    opt_start_seq: 2,
  })
})

t.test('does not scan from the start without events with future timestamps', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  await server.openEvents().append(toAppends('a'))
  const session = await server.openSessions().open()
  const nowMs = Date.now()
  const start = await fromTime(session, NAMES, nowMs - HOUR_MS, nowMs)
  t.equal(start.deliver_policy, 'by_start_time')
  t.equal(toTime(start.opt_start_time), nowMs - HOUR_MS - 120_000)
})
