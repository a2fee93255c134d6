import fc from 'fast-check'
import type { Test } from 'tap'
import type {
  EventDelivery,
  EventMember,
  EventStart,
  EventsAdapter,
} from '../../core/contracts/events.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { scaleRuns } from '../fixtures/property-runs.ts'

const TOPICS = ['one', 'two'].map((topic) => ({ namespace: 'mx', topic }))
const GROUPS = ['a', 'b']
const UNLIMITED = 1e9
const LONG_MS = 60_000

type Step =
  | { readonly do: 'append'; readonly events: readonly { topic: number; timestampMs: number }[] }
  | { readonly do: 'join'; readonly topic: number; readonly group: number; start: EventStart }
  | { readonly do: 'follow'; readonly topic: number; readonly start: EventStart }
  | { readonly do: 'pull'; readonly member: number; readonly limit: number }
  | { readonly do: 'ack' | 'nack'; readonly delivery: number }
  | { readonly do: 'leave'; readonly member: number }
  | { readonly do: 'read'; readonly topic: number; from: number; sinceMs: number; limit: number }
  | { readonly do: 'retain'; readonly topic: number; readonly part: number }
  | { readonly do: 'deleteGroup'; readonly topic: number; readonly group: number }
  | { readonly do: 'reopen' }

/** Expected state of a topic. */
interface ExpectedTopic {
  /** Timestamps, in the order of sequences. */
  readonly times: number[]
  first: number
  readonly groups: Map<string, ExpectedGroup>
}

/** Expected position of a group. */
interface ExpectedGroup {
  readonly from: number
  readonly sinceMs: number
  readonly done: Set<number>
  readonly pending: Map<number, object>
  readonly attempts: Map<number, number>
}

interface ExpectedMember {
  readonly member: EventMember
  readonly topic: ExpectedTopic
  /** Undefined for new events only, without acknowledged events. */
  readonly group: ExpectedGroup | undefined
  next: number
  readonly sinceMs: number
}

interface ExpectedDelivery {
  readonly delivery: EventDelivery
  readonly owner: ExpectedMember
  readonly attempt: number
}

const topic = fc.nat(1)
const group = fc.nat(1)
const time = fc.integer({ min: 1, max: 20 })
const start: fc.Arbitrary<EventStart> = fc.oneof(
  fc.constant({ sequence: 1 }),
  fc.record({ sequence: fc.integer({ min: 1, max: 12 }), sinceMs: time }, { requiredKeys: [] }),
)
const constant = <T extends string>(name: T) => fc.constant(name)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: constant('append'),
      events: fc.array(fc.record({ topic, timestampMs: time }), { minLength: 1, maxLength: 5 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: constant('join'), topic, group, start }) },
  fc.record({ do: constant('follow'), topic, start }),
  {
    weight: 6,
    arbitrary: fc.record({ do: constant('pull'), member: fc.nat(9), limit: fc.nat(4) }),
  },
  { weight: 4, arbitrary: fc.record({ do: constant('ack'), delivery: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.record({ do: constant('nack'), delivery: fc.nat(30) }) },
  fc.record({ do: constant('leave'), member: fc.nat(9) }),
  fc.record({
    do: constant('read'),
    topic,
    from: fc.integer({ min: 1, max: 15 }),
    sinceMs: time,
    limit: fc.nat(4),
  }),
  {
    weight: 2,
    arbitrary: fc.record({ do: constant('retain'), topic, part: fc.constantFrom(0.2, 0.6, 0.9) }),
  },
  fc.record({ do: constant('deleteGroup'), topic, group }),
  fc.record({ do: constant('reopen') }),
)

export interface EventsModelOptions {
  readonly numRuns?: number
  /** Order of redelivered events. */
  readonly redelivery?: 'by sequence' | 'in any order'
}

/** After any operations in any order, every group gets the expected events. */
export function testEventsModel(
  t: Test,
  create: () => Maybe<{ adapter: EventsAdapter; reopen?: () => Maybe<EventsAdapter> }>,
  { numRuns = scaleRuns(100), redelivery = 'by sequence' }: EventsModelOptions = {},
): void {
  t.test('contract: delivers to every group the same events as a plain list', async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }),
        async (steps) => {
          const { adapter, reopen } = await create()
          const run = new Run(adapter, reopen, redelivery)
          try {
            for (const step of steps) await run.run(step)
          } finally {
            await run.close()
          }
        },
      ),
      { numRuns },
    )
    t.pass(`${numRuns} runs`)
  })
}

class Run {
  #adapter: EventsAdapter
  readonly #reopen: (() => Maybe<EventsAdapter>) | undefined
  readonly #topics: ExpectedTopic[] = TOPICS.map(() => ({ times: [], first: 1, groups: new Map() }))
  #members: ExpectedMember[] = []
  #deliveries: ExpectedDelivery[] = []

  readonly #redelivery: EventsModelOptions['redelivery']

  constructor(
    adapter: EventsAdapter,
    reopen: (() => Maybe<EventsAdapter>) | undefined,
    redelivery: EventsModelOptions['redelivery'],
  ) {
    this.#adapter = adapter
    this.#reopen = reopen
    this.#redelivery = redelivery
  }

  async close(): Promise<void> {
    await this.#adapter.close?.()
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case 'append':
        return this.#append(step)
      case 'join':
      case 'follow':
        return this.#join(step.topic, step.start, step.do === 'join' ? step.group : undefined)
      case 'pull':
        return this.#pull(step)
      case 'ack':
      case 'nack':
        return this.#settle(step.do, step.delivery)
      case 'leave': {
        const leaving = pick(this.#members, step.member)
        if (leaving === undefined) return
        this.#members = this.#members.filter((member) => member !== leaving)
        return this.#leave(leaving)
      }
      case 'read':
        return this.#read(step)
      case 'retain':
        return this.#retain(step)
      case 'deleteGroup':
        return this.#deleteGroup(step)
      default:
        return this.#open()
    }
  }

  async #append({ events }: Extract<Step, { do: 'append' }>): Promise<void> {
    const expected = events.map(({ topic, timestampMs }) => {
      const { times } = this.#topics[topic]!
      return times.push(timestampMs)
    })
    const batch = events.map(({ topic, timestampMs }) => ({
      topic: TOPICS[topic]!,
      event: {
        id: crypto.randomUUID(),
        timestampMs,
        metadata: {},
        payload: Buffer.from(String(timestampMs)),
      },
    }))
    check('sequences', await this.#adapter.append(batch), expected)
  }

  async #join(index: number, start: EventStart, group: number | undefined): Promise<void> {
    const topic = this.#topics[index]!
    const name = group === undefined ? undefined : GROUPS[group]!
    const member = await this.#adapter.join(TOPICS[index]!, {
      name,
      start,
      ackWaitMs: name === undefined ? undefined : LONG_MS,
    })
    const { sequence, sinceMs = 0 } = start
    const from = sequence ?? (start.sinceMs === undefined ? topic.times.length + 1 : 1)
    let expected: ExpectedGroup | undefined
    if (name !== undefined) {
      expected = topic.groups.get(name) ?? {
        from,
        sinceMs,
        done: new Set(),
        pending: new Map(),
        attempts: new Map(),
      }
      topic.groups.set(name, expected)
    }
    this.#members.push({ member, topic, group: expected, next: from, sinceMs })
  }

  /** Sequences that a member should receive. */
  #expect({ topic, group, next, sinceMs }: ExpectedMember): number[] {
    const from = Math.max(topic.first, group?.from ?? next)
    const since = group?.sinceMs ?? sinceMs
    const result: number[] = []
    for (let sequence = from; sequence <= topic.times.length; sequence++) {
      if (topic.times[sequence - 1]! < since) continue
      if (group?.done.has(sequence) || group?.pending.has(sequence)) continue
      result.push(sequence)
    }
    return result
  }

  async #pull({ member: index, limit }: Extract<Step, { do: 'pull' }>): Promise<void> {
    const owner = pick(this.#members, index)
    if (owner === undefined) return
    const all = this.#expect(owner)
    const expected = all.slice(0, limit + 1)
    // The pull would wait for an event.
    if (expected.length === 0) return
    const pulled: EventDelivery[] = []
    while (pulled.length < expected.length)
      pulled.push(...(await owner.member.pull(limit + 1 - pulled.length, UNLIMITED)))
    const sequences = pulled.map(({ event }) => event.sequence)
    if (this.#redelivery === 'in any order') checkAnyOrder(sequences, all, owner.group)
    else check('pulled', sequences, expected)
    for (const delivery of pulled) {
      const { sequence, payload } = delivery.event
      check('payload', Number(Buffer.from(payload)), owner.topic.times[sequence - 1])
      owner.next = sequence + 1
      const { group } = owner
      if (group === undefined) continue
      const attempt = (group.attempts.get(sequence) ?? 0) + 1
      if (delivery.attempt > attempt || delivery.attempt < 1)
        throw new Error(`attempt ${delivery.attempt} of ${sequence}, not ${attempt}`)
      group.attempts.set(sequence, delivery.attempt)
      group.pending.set(sequence, owner)
      this.#deliveries.push({ delivery, owner, attempt: delivery.attempt })
    }
  }

  async #settle(name: 'ack' | 'nack', index: number): Promise<void> {
    const result = pick(this.#deliveries, index)
    if (result === undefined) return
    const { delivery, owner, attempt } = result
    const group = owner.group!
    const { sequence } = delivery.event
    const isLeased =
      group.pending.get(sequence) === owner && group.attempts.get(sequence) === attempt
    if (name === 'ack') {
      await delivery.ack()
      group.done.add(sequence)
      group.pending.delete(sequence)
    } else {
      await delivery.nack(0)
      if (isLeased) group.pending.delete(sequence)
    }
  }

  async #leave(leaving: ExpectedMember): Promise<void> {
    await leaving.member.leave()
    const { group } = leaving
    for (const [sequence, owner] of group?.pending ?? [])
      if (owner === leaving) group!.pending.delete(sequence)
    // Later acknowledgements may be forgotten with the group.
    this.#deliveries = this.#deliveries.filter(({ owner }) => owner !== leaving)
  }

  async #read({
    topic: index,
    from,
    sinceMs,
    limit,
  }: Extract<Step, { do: 'read' }>): Promise<void> {
    const { times, first } = this.#topics[index]!
    const expected: number[] = []
    for (let sequence = Math.max(from, first); sequence <= times.length; sequence++)
      if (times[sequence - 1]! >= sinceMs) expected.push(sequence)
    const range = { from, sinceMs, limit: limit + 1, maxBytes: UNLIMITED }
    const { events, next } = await this.#adapter.read(TOPICS[index]!, range)
    check(
      'read',
      events.map(({ sequence }) => sequence),
      expected.slice(0, limit + 1),
    )
    if (expected.length > limit + 1 && (next === undefined || next > expected[limit + 1]!))
      throw new Error(`the next sequence is ${next}, not ${expected[limit + 1]}`)
  }

  async #retain({ topic: index, part }: Extract<Step, { do: 'retain' }>): Promise<void> {
    if (this.#adapter.retain === undefined) return
    const topic = this.#topics[index]!
    const before = await this.#find(index)
    if (before === undefined) return
    const retention = { maxAgeMs: 0, maxBytes: Math.max(1, Math.floor(before.bytes * part)) }
    while (await this.#adapter.retain(TOPICS[index]!, retention, Date.now()));
    const { first, last } = (await this.#find(index))!
    check('last', last, topic.times.length)
    if (first < topic.first || first > Math.max(last, topic.first))
      throw new Error(`first is ${first}, was ${topic.first}, last is ${last}`)
    topic.first = first
  }

  async #find(index: number) {
    const { topic: name } = TOPICS[index]!
    return (await this.#adapter.listTopics()).find(({ topic }) => topic === name)
  }

  async #deleteGroup({ topic: index, group }: Extract<Step, { do: 'deleteGroup' }>): Promise<void> {
    if (this.#adapter.deleteGroup === undefined) return
    const name = GROUPS[group]!
    const { groups } = this.#topics[index]!
    const expectedGroup = groups.get(name)
    check(
      'deleted',
      await this.#adapter.deleteGroup(TOPICS[index]!, name),
      expectedGroup !== undefined,
    )
    groups.delete(name)
    this.#members = this.#members.filter(
      (member) => member.group === undefined || member.group !== expectedGroup,
    )
    this.#deliveries = this.#deliveries.filter(({ owner }) => owner.group !== expectedGroup)
  }

  async #open(): Promise<void> {
    if (this.#reopen === undefined) return
    await this.#adapter.close?.()
    this.#adapter = await this.#reopen()
    this.#members = []
    this.#deliveries = []
    for (const { groups } of this.#topics)
      for (const group of groups.values()) group.pending.clear()
    for (const [index, { times, first }] of this.#topics.entries()) {
      const state = await this.#find(index)
      check('topic', [state?.first ?? 1, state?.last ?? 0], [first, times.length])
    }
  }
}

/** First redelivered events, each once, then other events in the order of their sequences. */
function checkAnyOrder(
  result: readonly number[],
  all: readonly number[],
  group: ExpectedGroup | undefined,
): void {
  const isRedelivered = (sequence: number): boolean => group?.attempts.has(sequence) === true
  const repeated = all.filter(isRedelivered)
  const first = result.slice(0, repeated.length)
  const expected = all.filter((sequence) => first.includes(sequence))
  if (!first.every(isRedelivered)) check('pulled first', first, repeated)
  check(
    'pulled',
    [...first].sort((a, b) => a - b),
    expected,
  )
  check('pulled', result.slice(repeated.length), all.slice(repeated.length, result.length))
}

/** One of the existing entries. */
function pick<T>(list: readonly T[], index: number): T | undefined {
  return list[index % list.length]
}

function check(name: string, result: unknown, expected: unknown): void {
  if (JSON.stringify(result) !== JSON.stringify(expected))
    throw new Error(`${name}: ${JSON.stringify(result)}, not ${JSON.stringify(expected)}`)
}
