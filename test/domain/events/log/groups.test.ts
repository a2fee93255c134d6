import t from 'tap'
import type { EventGroup } from '../../../../core/contracts/events.ts'
import { parseGroupState } from '../../../../domain/events/log/group-state.ts'
import { createLogEvents } from '../../../../domain/events/log/groups.ts'
import { createTestLog, LOG_TOPIC } from '../../../fixtures/event-log.ts'

const GROUP: EventGroup = { name: 'g', start: { sequence: 1 }, ackWaitMs: 60_000 }
const UNLIMITED = 1e9

function open(times: readonly number[] = [1, 2, 3]) {
  const log = createTestLog()
  log.add(...times)
  return {
    log,
    adapter: createLogEvents(log),
    state: (name = 'g') => parseGroupState(log.states.get(name)!),
  }
}

t.test('saves a group before its first member receives it', async (t) => {
  const { log, adapter, state } = open()
  const joining = [adapter.join(LOG_TOPIC, GROUP), adapter.join(LOG_TOPIC, GROUP)]
  t.equal(log.states.size, 0)
  await joining[1]
  t.equal(state().acked, 0)
  await joining[0]
})

t.test('adds no member to a group that cannot be saved', async (t) => {
  const { log, adapter } = open()
  log.failure = new Error('full')
  await t.rejects(async () => adapter.join(LOG_TOPIC, GROUP), { message: 'full' })
  log.failure = undefined
  const member = await adapter.join(LOG_TOPIC, { ...GROUP, start: { sequence: 3 } })
  t.equal((await member.pull(5, UNLIMITED)).length, 1, 'the group starts at the new position')
})

t.test('resolves an acknowledgement once it is saved, and rejects if saving fails', async (t) => {
  const { log, adapter, state } = open()
  const member = await adapter.join(LOG_TOPIC, GROUP)
  const [one, two] = await member.pull(5, UNLIMITED)
  const acked = one!.ack()
  t.equal(state().acked, 0)
  await acked
  t.equal(state().acked, 1)
  log.failure = new Error('full')
  await t.rejects(async () => two!.ack(), { message: 'full' })
  t.equal(state().acked, 1)
  log.failure = undefined
  await two!.ack()
  t.equal(state().acked, 2)
})

t.test('unloads a group without members and resumes it when it is used again', async (t) => {
  const { adapter, state } = open()
  const first = await adapter.join(LOG_TOPIC, GROUP)
  const [one] = await first.pull(2, UNLIMITED)
  await one!.ack()
  await first.leave()
  t.match(state(), { acked: 1, attempts: new Map([[2, 1]]) })
  await one!.ack()
  t.same(await adapter.listGroups!(LOG_TOPIC), [{ name: 'g', acked: 1, pending: 0 }])
  const second = await adapter.join(LOG_TOPIC, { ...GROUP, start: {} })
  const deliveries = await second.pull(5, UNLIMITED)
  t.strictSame(
    deliveries.map(({ event, attempt }) => [event.sequence, attempt]),
    [
      [2, 2],
      [3, 1],
    ],
  )
})

t.test('joins the same group while its last member leaves', async (t) => {
  const { adapter } = open()
  const first = await adapter.join(LOG_TOPIC, GROUP)
  const [one] = await first.pull(1, UNLIMITED)
  const leaving = first.leave()
  const second = await adapter.join(LOG_TOPIC, GROUP)
  await leaving
  await one!.ack()
  t.equal((await second.pull(1, UNLIMITED))[0]!.event.sequence, 2)
})

t.test('starts a new group after a deletion at any time', async (t) => {
  const { adapter, state } = open()
  const first = await adapter.join(LOG_TOPIC, GROUP)
  for (const delivery of await first.pull(5, UNLIMITED)) await delivery.ack()
  const deleting = adapter.deleteGroup!(LOG_TOPIC, 'g')
  const second = await adapter.join(LOG_TOPIC, GROUP)
  t.equal(await deleting, true)
  t.equal((await second.pull(5, UNLIMITED)).length, 3)
  t.equal(state().acked, 0)
  await first.leave()
  t.equal(state().acked, 0, 'a member of the deleted group saves nothing')
  t.same(await adapter.listGroups!(LOG_TOPIC), [{ name: 'g', acked: 0, pending: 3 }])
})

t.test('starts a group at the end, at a sequence, or at a time', async (t) => {
  const { adapter } = open([10, 30, 20])
  for (const [start, acked] of [
    [{}, 3],
    [{ sequence: 2 }, 1],
    [{ sequence: 9 }, 8],
    [{ sinceMs: 20 }, 1],
    [{ sinceMs: 31 }, 3],
    [{ sinceMs: 5 }, 0],
  ] as const) {
    const name = JSON.stringify(start)
    await adapter.join(LOG_TOPIC, { ...GROUP, name, start })
    const groups = await adapter.listGroups!(LOG_TOPIC)
    t.match(
      groups.find((group) => group.name === name),
      { acked },
      name,
    )
  }
})

t.test('close saves delivered events', async (t) => {
  const { adapter, state } = open()
  const member = await adapter.join(LOG_TOPIC, GROUP)
  const [one] = await member.pull(1, UNLIMITED)
  one!.ack()
  await adapter.close!()
  t.equal(state().acked, 1)
  t.strictSame(await member.pull(1, UNLIMITED), [])
})
