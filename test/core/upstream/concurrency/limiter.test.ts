import t from 'tap'
import {
  type ConcurrencyOptions,
  DEFAULT_CONCURRENCY,
  type Priority,
} from '../../../../core/upstream/concurrency/concurrency-options.ts'
import { Limiter, type Ticket } from '../../../../core/upstream/concurrency/limiter.ts'

const OPTIONS: ConcurrencyOptions = {
  ...DEFAULT_CONCURRENCY,
  limit: 1,
  queue: 3,
  queueTimeoutMs: 3_600_000,
}

function openTickets() {
  const events: string[] = []
  const create = (name: string, priority: Priority = 'default'): Ticket => ({
    priority,
    onReady: () => events.push(`${name} ready`),
    onShed: (reason) => events.push(`${name} ${reason}`),
    state: 'new',
    startMs: 0,
    timer: undefined,
  })
  return { events, create }
}

t.test('slots go to the highest priority, then in the order of arrival', async (t) => {
  const limiter = new Limiter(OPTIONS)
  const { events, create } = openTickets()
  const tickets = [create('a'), create('batch', 'batch'), create('b'), create('pay', 'critical')]
  t.ok(limiter.enter(tickets[0]!))
  for (const ticket of tickets.slice(1)) {
    t.notOk(limiter.enter(ticket))
    t.ok(limiter.wait(ticket))
  }
  for (const i of [0, 3, 2, 1]) limiter.release(tickets[i]!, 0)
  t.strictSame(events, ['pay ready', 'b ready', 'batch ready'])
  t.match(limiter, { active: 0, waiting: 0 })
})

t.test('a full queue sheds the last request of the lowest priority', async (t) => {
  const limiter = new Limiter({ ...OPTIONS, queue: 2 })
  const { events, create } = openTickets()
  limiter.enter(create('a'))
  t.ok(limiter.wait(create('b1', 'batch')))
  t.ok(limiter.wait(create('b2', 'batch')))
  t.notOk(limiter.wait(create('b3', 'batch')))
  t.ok(limiter.wait(create('c1')))
  t.ok(limiter.wait(create('p1', 'critical')))
  t.notOk(limiter.wait(create('c2')))
  t.strictSame(events, ['b2 full', 'b1 full'])
  limiter.configure({ ...OPTIONS, limit: 9 })
})

t.test('leaving twice frees one slot', async (t) => {
  const limiter = new Limiter(OPTIONS)
  const { events, create } = openTickets()
  const [first, second, third] = [create('a'), create('b'), create('c')]
  limiter.enter(first)
  limiter.wait(second)
  limiter.wait(third)
  limiter.release(first, 0)
  limiter.release(first, 0)
  t.match(limiter, { active: 1, waiting: 1 })
  limiter.release(third, 0)
  limiter.release(third, 0)
  limiter.release(second, 0)
  t.match(limiter, { active: 0, waiting: 0 })
  t.strictSame(events, ['b ready', 'c ready'])
})

t.test('a higher limit gives slots to waiting requests immediately', async (t) => {
  const limiter = new Limiter(OPTIONS)
  const { events, create } = openTickets()
  limiter.enter(create('a'))
  limiter.wait(create('b'))
  limiter.wait(create('c'))
  limiter.configure({ ...OPTIONS, limit: 3 })
  t.match(limiter, { active: 3, waiting: 0 })
  t.strictSame(events, ['b ready', 'c ready'])
})
