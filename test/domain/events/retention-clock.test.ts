import t from 'tap'
import { createLmdbEvents } from '../../../adapters/events/lmdb.ts'
import { createMemoryEvents } from '../../../adapters/events/memory.ts'
import type { EventsAdapter } from '../../../core/contracts/events.ts'
import { createEvents } from '../../../domain/events/events.ts'
import { createRetentionClock } from '../../../domain/events/retention-clock.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const DAY_MS = 24 * 60 * 60_000

const HOUR_MS = 60 * 60_000

/** @param stoppedMs time from the last save of an earlier process to the start. */
function open(stoppedMs?: number) {
  const at = { wall: 100 * DAY_MS, steady: 500 }
  const jumps: string[] = []
  const read = createRetentionClock({
    savedMs: stoppedMs === undefined ? undefined : at.wall - stoppedMs,
    wallMs: () => at.wall,
    steadyMs: () => at.steady,
    onJump: ({ message }) => jumps.push(message),
  })
  const advance = (ms: number): void => {
    at.wall += ms
    at.steady += ms
  }
  return { at, jumps, read, advance }
}

t.test('follows the wall clock, including small steps and steps back', async (t) => {
  const { at, jumps, read, advance } = open()
  t.equal(read(), 100 * DAY_MS)
  advance(DAY_MS)
  at.wall += 60_000
  t.equal(read(), at.wall)
  at.wall -= DAY_MS
  t.equal(read(), at.wall)
  t.same(jumps, [])
})

t.test('ignores a forward jump until the clock is correct again', async (t) => {
  const { at, jumps, read, advance } = open()
  at.wall += 8 * DAY_MS
  t.equal(read(), 100 * DAY_MS)
  advance(12_000)
  t.equal(read(), 100 * DAY_MS + 12_000)
  at.wall -= 8 * DAY_MS
  t.equal(read(), at.wall)
  t.equal(jumps.length, 1)
  t.match(jumps[0], /jumped ahead by 691200 s/)
})

t.test('accepts a jump ahead that lasts for an hour', async (t) => {
  const { at, jumps, read, advance } = open()
  at.wall += 8 * DAY_MS
  read()
  advance(60 * 60_000)
  t.equal(read(), at.wall)
  advance(10)
  t.equal(read(), at.wall)
  t.equal(jumps.length, 1)
})

t.test('reports a further jump and restarts the hour', async (t) => {
  const { at, jumps, read, advance } = open()
  at.wall += 5 * 60_000
  read()
  advance(HOUR_MS - 1000)
  at.wall += 8 * DAY_MS
  t.equal(read(), 100 * DAY_MS + HOUR_MS - 1000)
  advance(2000)
  t.equal(read(), 100 * DAY_MS + HOUR_MS + 1000)
  at.wall -= 8 * DAY_MS
  read()
  at.wall += 8 * DAY_MS
  read()
  t.equal(jumps.length, 3, 'a repeated jump is reported again')
})

t.test('ignores the time before the start for an hour', async (t) => {
  const { jumps, read, advance } = open(5 * HOUR_MS)
  t.equal(read(), 100 * DAY_MS - 5 * HOUR_MS)
  advance(HOUR_MS - 1)
  t.equal(read(), 100 * DAY_MS - 4 * HOUR_MS - 1)
  advance(1)
  t.equal(read(), 100 * DAY_MS + HOUR_MS)
  t.same(jumps, [], 'downtime is not reported as a jump')
})

t.test('follows the wall clock after a quick restart', async (t) => {
  const { at, read } = open(60_000)
  t.equal(read(), at.wall)
})

t.test('reports a clock that is ahead by more than a day at the start', async (t) => {
  const { at, jumps, read } = open(8 * DAY_MS)
  t.equal(read(), 92 * DAY_MS)
  t.equal(jumps.length, 1)
  t.match(jumps[0], /is 691200 s ahead of the last run of the server/)
  at.wall -= 9 * DAY_MS
  t.equal(read(), at.wall)
})

t.test('deletes no events after a start with a wrong clock', async (t) => {
  const folder = makeTempFolder(t, 'events')
  const topic = { namespace: 'mx', topic: 'audit' }
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  const errors: unknown[] = []
  /** A server that checks for expired events continuously. */
  const start = (offsetMs: number, onCheck: () => void) => {
    Date.now = () => now() + offsetMs
    const adapter = createLmdbEvents({ folder })
    const counted: EventsAdapter = {
      ...adapter,
      listTopics(namespace) {
        onCheck()
        return adapter.listTopics(namespace)
      },
    }
    return createEvents(counted, { retainMs: 1, onError: (error) => errors.push(error) })
  }
  const run = async (offsetMs: number): Promise<number> => {
    let checks = 0
    const events = start(offsetMs, () => checks++)
    await events.publish(topic, { payload: Buffer.from('1') })
    await eventually(async () => checks > 2)
    const page = await events.read(topic)
    await events.close()
    return page.events.length
  }
  t.equal(await run(0), 1)
  t.equal(await run(8 * DAY_MS), 2)
  t.match(errors, [{ message: /is 6912\d\d s ahead/ }])
  t.equal(await run(8 * DAY_MS), 3, 'no events deleted after another start')
})

t.test('deletes no events while the clock is temporarily wrong, and reports it', async (t) => {
  const errors: unknown[] = []
  const events = createEvents(createMemoryEvents(), {
    retainMs: 1,
    onError: (error) => errors.push(error),
  })
  t.teardown(events.close)
  const topic = { namespace: 'mx', topic: 'audit' }
  await events.publish(topic, { payload: Buffer.from('1') })
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => now() + 8 * DAY_MS
  // Each check lists the topics, so two checks have completed by then.
  await eventually(async () => errors.length > 0)
  await events.publish(topic, { payload: Buffer.from('2') })
  Date.now = now
  const { events: read } = await events.read(topic)
  t.equal(read.length, 2)
  t.match(errors, [{ message: /clock of this machine jumped ahead/ }])
})
