import t, { type Test } from 'tap'
import {
  createSlots,
  type Slot,
  type Slots,
} from '../../../../../adapters/registry/consul/watch-slots.ts'
import { waitUntil } from '../../../../contracts/registry.ts'

function join(slots: Slots, idleMs: () => number = () => 0): Slot {
  return slots.join({ idleMs })
}

/** Polls in each round until it has a slot. */
function poll(t: Test, slot: Slot): { polls: () => number; has: () => boolean } {
  let polls = 0
  let has = false
  let stopped = false
  void (async () => {
    for (; !stopped; polls++) {
      has = slot.acquire()
      if (has) return
      await new Promise<void>((resolve) => slot.wait(resolve))
    }
  })()
  t.teardown(() => {
    stopped = true
    slot.leave()
  })
  return { polls: () => polls, has: () => has }
}

t.test('grants slots until they are full, which is reported once', async (t) => {
  let notifications = 0
  const slots = createSlots(2, 10, () => notifications++)
  const memberSlots = [1, 2, 3, 4].map(() => join(slots))
  t.same(
    memberSlots.map((slot) => slot.acquire()),
    [true, true, false, false],
  )
  t.equal(notifications, 1)
  t.ok(memberSlots[0]?.acquire(), 'a slot is retained')
  memberSlots[0]?.leave()
  memberSlots[0]?.leave()
  t.same([memberSlots[2]?.acquire(), memberSlots[3]?.acquire()], [true, false])
})

t.test('polls services in use more often', async (t) => {
  const slots = createSlots(0, 100_000, () => {})
  const used = poll(t, join(slots))
  const unused = poll(
    t,
    join(slots, () => 20_000),
  )
  await waitUntil(() => used.polls() > 0)
  t.equal(unused.polls(), 0)
})

t.test('polls an expedited service soon and once', async (t) => {
  const slots = createSlots(0, 100_000, () => {})
  const memberSlots = [1, 2].map(() => join(slots, () => 20_000))
  const [changed, other] = memberSlots.map((slot) => poll(t, slot))
  memberSlots[0]!.expedite()
  await waitUntil(() => changed!.polls() === 1)
  memberSlots[0]!.expedite()
  await waitUntil(() => changed!.polls() === 2)
  t.equal(other!.polls(), 0)
})

t.test('limits all polls to two hundred per second', async (t) => {
  const slots = createSlots(0, 1, () => {})
  const pollers = Array.from({ length: 400 }, (_, i) =>
    poll(
      t,
      join(slots, () => (i < 200 ? 0 : 20_000)),
    ),
  )
  const startedMs = performance.now()
  const count = (): number => pollers.reduce((sum, { polls }) => sum + polls(), 0)
  await waitUntil(() => count() >= 100)
  const seconds = (performance.now() - startedMs) / 1000
  t.ok(count() <= 200 * (seconds + 0.2), `${count()} in ${seconds} s`)
  const first = pollers.slice(0, 200).filter(({ polls }) => polls() > 0).length
  t.ok(
    first > 0 && pollers.some(({ polls }, i) => i >= 200 && polls() > 0),
    'both kinds are polled',
  )
})

t.test('moves a slot from an unused to a used service', async (t) => {
  const slots = createSlots(1, 100_000, () => {})
  let idleMs = 0
  const owner = join(slots, () => idleMs)
  t.ok(owner.acquire())
  t.notOk(slots.isShort())
  const other = poll(t, join(slots))
  t.ok(slots.isShort())
  await waitUntil(() => other.polls() > 1)
  t.ok(owner.acquire(), 'no slot moves while both services are in use')
  idleMs = 20_000
  await waitUntil(() => !owner.acquire())
  t.notOk(other.has(), 'not before its query has settled')
  await waitUntil(() => other.has())
  t.notOk(owner.acquire())
})

t.test('reduces the slots, but not below eight, when Consul rejects connections', async (t) => {
  const events: string[] = []
  const slots = createSlots(20, 100_000, (event) => events.push(event))
  const members = Array.from({ length: 20 }, (_, i) => join(slots, () => i))
  for (const slot of members.slice(0, 15)) t.ok(slot.acquire())
  slots.reduce()
  t.equal(slots.capacity(), 13)
  t.same(
    members.slice(0, 15).filter((slot) => !slot.acquire()),
    members.slice(13, 15),
    'the least recently used services lose their slots',
  )
  for (let i = 0; i < 10; i++) slots.reduce()
  t.same(events, ['rejected'])
  t.equal(slots.capacity(), 8)
})
