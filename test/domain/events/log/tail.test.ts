import t from 'tap'
import type { EventDelivery } from '../../../../core/contracts/events.ts'
import { createLogTail } from '../../../../domain/events/log/tail.ts'
import { createTestLog, LOG_TOPIC } from '../../../fixtures/event-log.ts'

const UNLIMITED = 1e9

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

t.test('delivers every event once, in order', async (t) => {
  const { log, tail, member } = open([1, 2, 3, 4], 2)
  t.strictSame(toSequences(await member.pull(2, UNLIMITED)), [2, 3])
  t.strictSame(toSequences(await member.pull(2, UNLIMITED)), [4])
  const next = member.pull(5, UNLIMITED)
  log.add(5, 6)
  tail.wake()
  t.strictSame(toSequences(await next), [5, 6])
})

t.test('starts at the requested position, even in the future', async (t) => {
  const { log, tail, member } = open([1], 3)
  const next = member.pull(5, UNLIMITED)
  log.add(2)
  tail.wake()
  log.add(3)
  tail.wake()
  t.strictSame(toSequences(await next), [3])
})

t.test('skips many events before the start time', async (t) => {
  const { member } = open([100, ...Array.from({ length: 3000 }, () => 1), 50], 1, 50)
  t.strictSame(toSequences(await member.pull(5, UNLIMITED)), [1])
  t.strictSame(toSequences(await member.pull(5, UNLIMITED)), [3002])
})

t.test('requires no acknowledgement', async (t) => {
  const { member } = open([1, 2])
  const [delivery] = await member.pull(1, UNLIMITED)
  delivery!.ack()
  delivery!.nack(0)
  t.strictSame(toSequences(await member.pull(1, UNLIMITED)), [2])
})

t.test('delivers nothing after leaving', async (t) => {
  const { log, tail, member } = open([])
  const next = member.pull(1, UNLIMITED)
  t.equal(tail.size, 1)
  void member.leave()
  t.equal(tail.size, 0)
  t.strictSame(await next, [])
  log.add(1)
  tail.wake()
  t.strictSame(await member.pull(1, UNLIMITED), [])
})
