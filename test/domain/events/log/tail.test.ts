import t from 'tap'
import type { EventDelivery } from '../../../../core/contracts/events.ts'
import { createLogTail } from '../../../../domain/events/log/tail.ts'
import { createTestLog, LOG_TOPIC } from '../../../fixtures/event-log.ts'

const MUCH = 1e9

function open(times: readonly number[], from = 1, sinceMs?: number) {
  const log = createTestLog()
  log.add(...times)
  const tail = createLogTail({ log, topic: LOG_TOPIC, from, sinceMs })
  return { log, tail, member: tail.join(0) }
}

const toSequences = (deliveries: readonly EventDelivery[]) =>
  deliveries.map(({ event, attempt }) => {
    if (attempt !== 1) throw new Error(`attempt ${attempt}`)
    return event.sequence
  })

t.test('every event comes once, in order', async (t) => {
  const { log, tail, member } = open([1, 2, 3, 4], 2)
  t.strictSame(toSequences(await member.pull(2, MUCH)), [2, 3])
  t.strictSame(toSequences(await member.pull(2, MUCH)), [4])
  const next = member.pull(5, MUCH)
  log.add(5, 6)
  tail.wake()
  t.strictSame(toSequences(await next), [5, 6])
})

t.test('it begins where it should, also when that is not there yet', async (t) => {
  const { log, tail, member } = open([1], 3)
  const next = member.pull(5, MUCH)
  log.add(2)
  tail.wake()
  log.add(3)
  tail.wake()
  t.strictSame(toSequences(await next), [3])
})

t.test('what is passed over by time may be much', async (t) => {
  const { member } = open([100, ...Array.from({ length: 3000 }, () => 1), 50], 1, 50)
  t.strictSame(toSequences(await member.pull(5, MUCH)), [1])
  t.strictSame(toSequences(await member.pull(5, MUCH)), [3002])
})

t.test('there is nothing to acknowledge', async (t) => {
  const { member } = open([1, 2])
  const [delivery] = await member.pull(1, MUCH)
  delivery!.ack()
  delivery!.nack(0)
  t.strictSame(toSequences(await member.pull(1, MUCH)), [2])
})

t.test('who leaves gets nothing more', async (t) => {
  const { log, tail, member } = open([])
  const next = member.pull(1, MUCH)
  t.equal(tail.size, 1)
  void member.leave()
  t.equal(tail.size, 0)
  t.strictSame(await next, [])
  log.add(1)
  tail.wake()
  t.strictSame(await member.pull(1, MUCH), [])
})
