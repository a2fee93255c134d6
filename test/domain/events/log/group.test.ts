import t, { type Test } from 'tap'
import type { EventDelivery } from '../../../../core/contracts/events.ts'
import { createLogGroup } from '../../../../domain/events/log/group.ts'
import { type GroupProgress, parseGroupState } from '../../../../domain/events/log/group-state.ts'
import { createTestLog, LOG_TOPIC } from '../../../fixtures/event-log.ts'

const FROM_START: GroupProgress = { acked: 0, ahead: [], sinceMs: undefined, attempts: new Map() }
const LONG_MS = 60_000
const UNLIMITED = 1e9

function open(t: Test, times: readonly number[], from: Partial<GroupProgress> = {}) {
  const log = createTestLog()
  log.add(...times)
  let saves = 0
  const group = createLogGroup({
    log,
    topic: LOG_TOPIC,
    from: { ...FROM_START, ...from },
    save: () => {
      saves++
    },
  })
  t.teardown(group.close)
  return {
    log,
    group,
    member: group.join(LONG_MS),
    saves: () => saves,
    state: () => parseGroupState(group.format()!),
  }
}

function toPairs(deliveries: readonly EventDelivery[]): [number, number][] {
  return deliveries.map(({ event, attempt }) => [event.sequence, attempt])
}

t.test('restores cursor, acknowledgements and delivery counts', async (t) => {
  const { member, state } = open(t, [1, 2, 3, 4, 5], {
    acked: 1,
    ahead: [3],
    attempts: new Map([[4, 2]]),
  })
  t.strictSame(
    state().attempts,
    new Map([[4, 2]]),
    'counts of events not pulled since are retained',
  )
  const deliveries = await member.pull(10, UNLIMITED)
  t.strictSame(toPairs(deliveries), [
    [2, 1],
    [4, 3],
    [5, 1],
  ])
  deliveries[2]!.ack()
  t.match(state(), { acked: 1, ahead: [3, 5] })
  deliveries[0]!.ack()
  t.match(state(), { acked: 3, ahead: [5] })
})

t.test(
  'counts of redeliveries are saved immediately, and first deliveries when the member leaves',
  async (t) => {
    const { group, member, state, saves } = open(t, [1, 2])
    const [first] = await member.pull(2, UNLIMITED)
    t.equal(saves(), 0, 'a pull alone saves nothing')
    t.strictSame(state().attempts, new Map())
    first!.nack(0)
    await member.pull(1, UNLIMITED)
    t.equal(saves(), 1)
    t.strictSame(state().attempts, new Map([[1, 2]]))
    void member.leave()
    t.strictSame(
      state().attempts,
      new Map([
        [1, 2],
        [2, 1],
      ]),
    )
    t.equal(group.size, 0)
  },
)

t.test('memory stays bounded when an event is never acknowledged', async (t) => {
  const times = Array.from({ length: 10_100 }, (_, i) => i)
  const { member, state } = open(t, times)
  let first: EventDelivery | undefined
  let pulled = 0
  while (pulled < 10_000) {
    const deliveries = await member.pull(1000, UNLIMITED)
    first ??= deliveries[0]
    pulled += deliveries.length
    for (const delivery of deliveries) if (delivery !== first) delivery.ack()
  }
  t.equal(pulled, 10_000)
  let exists = false
  const next = member.pull(1000, UNLIMITED).then((deliveries) => {
    exists = true
    return deliveries
  })
  await new Promise(setImmediate)
  t.equal(exists, false, 'no more events until the first one is acknowledged')
  t.equal([...state().ahead].length, 9999)
  first!.ack()
  t.equal((await next).length, 100)
  t.match(state(), { acked: 10_000, ahead: [] })
})

t.test('treats events removed by retention as acknowledged', async (t) => {
  const { log, member, state } = open(t, [1, 2, 3, 4, 5, 6])
  const [first, second] = await member.pull(3, UNLIMITED)
  second!.nack(0)
  log.removeTo(4)
  t.strictSame(toPairs(await member.pull(10, UNLIMITED)), [
    [5, 1],
    [6, 1],
  ])
  t.match(state(), { acked: 4, ahead: [] })
  first!.ack()
  t.match(state(), { acked: 4 })
  t.equal(state().attempts.size, 0)
})

t.test('skips events before the start time in batches', async (t) => {
  const { log, group, member, state } = open(t, [], { sinceMs: 100 })
  log.add(200, ...Array.from({ length: 3500 }, (_, i) => i % 100), 150)
  t.strictSame(toPairs(await member.pull(1, UNLIMITED)), [[1, 1]])
  const alive = setInterval(() => {}, 1000)
  t.strictSame(toPairs(await member.pull(1, UNLIMITED)), [[3502, 1]])
  clearInterval(alive)
  t.equal(state().acked, 0)
  t.equal([...state().ahead].length, 3500)
  const pending = member.pull(1, UNLIMITED)
  log.add(99, 100)
  group.wake()
  t.strictSame(toPairs(await pending), [[3504, 1]])
})

t.test('releases events of a leaving member to waiting members', async (t) => {
  const { group, member } = open(t, [1, 2])
  await member.pull(2, UNLIMITED)
  const other = group.join(LONG_MS)
  const pending = other.pull(5, UNLIMITED)
  void member.leave()
  t.strictSame(toPairs(await pending), [
    [1, 2],
    [2, 2],
  ])
  t.strictSame(await member.pull(5, UNLIMITED), [])
})

t.test('applies the start time of each member', async (t) => {
  const { group, member } = open(t, [1, 2])
  const short = group.join(30)
  await member.pull(1, UNLIMITED)
  await short.pull(1, UNLIMITED)
  const alive = setInterval(() => {}, 1000)
  t.strictSame(toPairs(await member.pull(5, UNLIMITED)), [[2, 2]])
  clearInterval(alive)
})

t.test('delivers and saves nothing after a failure', async (t) => {
  const { group, member, saves } = open(t, [1])
  const [delivery] = await member.pull(1, UNLIMITED)
  const pending = t.rejects(member.pull(1, UNLIMITED), { message: 'gone' })
  group.fail(new Error('gone'))
  await pending
  await t.rejects(member.pull(1, UNLIMITED), { message: 'gone' })
  delivery!.ack()
  delivery!.nack(0)
  t.equal(saves(), 0)
  t.equal(group.format(), undefined)
})
