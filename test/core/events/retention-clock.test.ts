import t from 'tap'
import { createMemoryEvents } from '../../../adapters/events/memory.ts'
import { createEvents } from '../../../core/events/events.ts'
import { createRetentionClock } from '../../../core/events/retention-clock.ts'
import { eventually } from '../../fixtures/eventually.ts'

const DAY_MS = 24 * 60 * 60_000

function open() {
  const at = { wall: 1_000_000, steady: 500 }
  const jumps: string[] = []
  const read = createRetentionClock({
    wallMs: () => at.wall,
    steadyMs: () => at.steady,
    onJump: ({ message }) => jumps.push(message),
  })
  const pass = (ms: number): void => {
    at.wall += ms
    at.steady += ms
  }
  return { at, jumps, read, pass }
}

t.test('follows the wall clock, small steps and steps back included', async (t) => {
  const { at, jumps, read, pass } = open()
  t.equal(read(), 1_000_000)
  pass(DAY_MS)
  at.wall += 60_000
  t.equal(read(), at.wall)
  at.wall -= DAY_MS
  t.equal(read(), at.wall)
  t.same(jumps, [])
})

t.test('leaves out a jump ahead until the clock is right again', async (t) => {
  const { at, jumps, read, pass } = open()
  at.wall += 8 * DAY_MS
  t.equal(read(), 1_000_000)
  pass(12_000)
  t.equal(read(), 1_012_000)
  at.wall -= 8 * DAY_MS
  t.equal(read(), at.wall)
  t.equal(jumps.length, 1)
  t.match(jumps[0], /jumped ahead by 691200 s/)
})

t.test('accepts a jump ahead that lasts for an hour', async (t) => {
  const { at, jumps, read, pass } = open()
  at.wall += 8 * DAY_MS
  read()
  pass(60 * 60_000)
  t.equal(read(), at.wall)
  pass(10)
  t.equal(read(), at.wall)
  t.equal(jumps.length, 1)
})

t.test('a clock that is wrong for a moment deletes no events, and is reported', async (t) => {
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
  // Each look lists the topics: two of them have been aged by then.
  await eventually(async () => errors.length > 0)
  await events.publish(topic, { payload: Buffer.from('2') })
  Date.now = now
  const { events: read } = await events.read(topic)
  t.equal(read.length, 2)
  t.match(errors, [{ message: /clock of this machine jumped ahead/ }])
})
