import t, { type Test } from 'tap'
import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import type { Broker } from '../../../core/contracts/broker.ts'
import { GatewayError } from '../../../core/errors.ts'
import { Type } from '../../../core/schema.ts'
import { createBroker } from '../../../domain/broker/broker.ts'
import { brokerUnavailable } from '../../../domain/broker/errors.ts'
import { Subscriptions, toReports } from '../../../sdk/broker/subscriptions.ts'
import { type Context, metadata } from '../../../sdk/context.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'

function open(t: Test, broker: Broker = createMemoryBroker()) {
  const { log, lines } = createQuietLog()
  const checked = createBroker(broker, toReports(log))
  const subscriptions = new Subscriptions('greeter', log)
  t.teardown(() => subscriptions.end())
  const begin = (): Promise<void> => subscriptions.begin(checked)
  const publish = (topic: string, body: unknown, headers: Record<string, string> = {}): void => {
    const bytes = typeof body === 'string' ? body : JSON.stringify(body)
    void broker.publish(topic, { headers, body: Buffer.from(bytes) })
  }
  return { broker, subscriptions, begin, publish, lines }
}

t.test('a handler receives the decoded body', async (t) => {
  const { subscriptions, begin, publish } = open(t)
  const received: [unknown, Context][] = []
  subscriptions.add('events', (message, ctx) => void received.push([message, ctx]), {})
  publish('events', { too: 'early' })
  await begin()
  publish('events', { a: 1 })
  publish('events', '', { 'content-type': 'application/json' })
  publish('events', '[1]', { 'content-type': 'application/cloudevents+json', 'x-tenant': 'acme' })
  publish('events', 'ä', { 'content-type': 'text/plain' })
  await waitUntil(() => received.length === 4)
  t.strictSame(
    received.map(([message]) =>
      message instanceof Uint8Array ? Buffer.from(message).toString() : message,
    ),
    [{ a: 1 }, {}, [1], 'ä'],
  )
  const [, ctx] = received[2]!
  t.strictSame(metadata.get(ctx, 'X-Tenant'), ['acme', true])
  t.strictSame([ctx.service, ctx.endpoint], ['greeter', 'events'])
})

t.test(
  'a message that is not JSON, or does not match the schema, is logged and dropped',
  async (t) => {
    const { subscriptions, begin, publish, lines } = open(t)
    const names: string[] = []
    subscriptions.add('people', ({ name }) => void names.push(name), {
      message: Type.Object({ name: Type.String() }),
    })
    await begin()
    publish('people', { name: 5 })
    publish('people', '{"name":')
    publish('people', '{"__proto__":{},"name":"x"}')
    publish('people', { name: 'John' })
    await waitUntil(() => names.length === 1)
    t.strictSame(names, ['John'])
    t.equal(lines.length, 3)
    t.match(lines[0], /subscriber failed/)
    t.match(lines[0], /message\.name must be a string, got 5/)
    t.match(lines[1], /message must be JSON/)
  },
)

t.test('a handler error is only logged', async (t) => {
  const { subscriptions, begin, publish, lines } = open(t)
  let handled = 0
  subscriptions.add(
    'events',
    async () => {
      handled++
      throw new Error('no')
    },
    {},
  )
  await begin()
  publish('events', {})
  publish('events', {})
  await waitUntil(() => handled === 2 && lines.length === 2)
  t.match(JSON.parse(lines[0]!), { topic: 'events', msg: 'subscriber failed' })
})

t.test('a message is delivered to every node, or to one node per queue', async (t) => {
  const broker = createMemoryBroker()
  const counts = { all: [0, 0], queue: [0, 0] }
  for (const node of [0, 1]) {
    const { subscriptions, begin } = open(t, broker)
    subscriptions.add('a', () => void counts.all[node]!++, {})
    subscriptions.add('a', () => void counts.queue[node]!++, { queue: 'workers' })
    await begin()
  }
  const { publish } = open(t, broker)
  for (let i = 0; i < 10; i++) publish('a', {})
  await waitUntil(
    () => counts.all[0]! + counts.all[1]! + counts.queue[0]! + counts.queue[1]! === 30,
  )
  t.strictSame(counts, { all: [10, 10], queue: [5, 5] })
})

t.test('end waits for messages in progress and delivers no further messages', async (t) => {
  const { subscriptions, begin, publish } = open(t)
  let started = 0
  let done = 0
  let release: () => void = () => {}
  subscriptions.add(
    'a',
    async () => {
      started++
      await new Promise<void>((resolve) => {
        release = resolve
      })
      done++
    },
    {},
  )
  await begin()
  publish('a', {})
  publish('a', {})
  await waitUntil(() => started === 1)
  const ended = subscriptions.end()
  publish('a', {})
  release()
  await ended
  t.strictSame([started, done], [1, 1])
})

t.test('an invalid topic or queue fails the start', async (t) => {
  for (const [topic, queue] of [
    ['a b', undefined],
    ['a', '..'],
  ] as const) {
    const { subscriptions, begin } = open(t)
    subscriptions.add(topic, () => {}, queue === undefined ? {} : { queue })
    await t.rejects(begin(), { code: 400 })
  }
})

/** A broker that fails subscriptions with these errors in order. */
function rejecting(...errors: (Error | undefined)[]): Broker {
  const memory = createMemoryBroker()
  return {
    ...memory,
    subscribe(...all) {
      const error = errors.shift()
      if (error !== undefined) throw error
      return memory.subscribe(...all)
    },
  }
}

t.test('an unavailable broker is retried until it accepts', async (t) => {
  const temporary = [
    brokerUnavailable(new Error('NATS is unreachable')),
    new GatewayError('broker', 404, 'service not found: broker'),
    new GatewayError('broker', 429, 'limit of 10000 subscribers reached'),
  ]
  const { subscriptions, begin, publish, lines } = open(t, rejecting(...temporary))
  let received = 0
  subscriptions.add('a', () => void received++, {})
  await begin()
  t.match(JSON.parse(lines[0]!), { topic: 'a', msg: 'subscribing failed, retrying' })
  await waitUntil(() => lines.length > 1)
  t.match(JSON.parse(lines[1]!), { topic: 'a', msg: 'subscribed' })
  publish('a', {})
  await waitUntil(() => received === 1)
})

t.test('a permanent rejection fails the start', async (t) => {
  const denied = Object.assign(new Error('Authorization Violation'), { denied: true })
  for (const error of [
    new GatewayError('broker', 403, 'NATS does not permit it'),
    brokerUnavailable(denied),
    new Error('broken'),
  ]) {
    const { subscriptions, begin } = open(t, rejecting(error))
    subscriptions.add('a', () => {}, {})
    await t.rejects(begin(), error)
  }
})

t.test('a later rejection is logged once and retried', async (t) => {
  const outage = brokerUnavailable(new Error('unreachable'))
  const denial = new GatewayError('broker', 403, 'denied')
  const { subscriptions, begin, lines } = open(t, rejecting(outage, denial, denial, outage))
  subscriptions.add('a', () => {}, {})
  await begin()
  await waitUntil(() => lines.some((line) => line.includes('"subscribed"')))
  t.match(
    lines.map((line) => JSON.parse(line).msg),
    ['subscribing failed, retrying', 'subscribing failed, retrying', 'subscribed'],
  )
})

t.test('end stops retries', async (t) => {
  const endless = Array.from({ length: 1000 }, () => brokerUnavailable(new Error('unreachable')))
  const { subscriptions, begin, lines } = open(t, rejecting(...endless))
  subscriptions.add('a', () => {}, {})
  await begin()
  await subscriptions.end()
  t.equal(lines.length, 1)
})

t.test('leave does not wait for a subscriber that never returns', async (t) => {
  const { log } = createQuietLog()
  const broker = createBroker(createMemoryBroker(), toReports(log))
  const subscriptions = new Subscriptions('greeter', log)
  let started = false
  subscriptions.add(
    'a',
    () => {
      started = true
      return new Promise(() => {})
    },
    {},
  )
  await subscriptions.begin(broker)
  await broker.publish('a', { headers: {}, body: new Uint8Array(0) })
  await waitUntil(() => started)
  await subscriptions.leave()
  t.equal(subscriptions.size, 1)
})

t.test('the end of a slow subscription is logged', async (t) => {
  const { log, lines } = createQuietLog()
  const broker = createBroker(createMemoryBroker(), { ...toReports(log), maxWaiting: 1 })
  const subscriptions = new Subscriptions('greeter', log)
  subscriptions.add('a', () => {}, { whenSlow: 'end' })
  await subscriptions.begin(broker)
  for (let i = 0; i < 2; i++) void broker.publish('a', { headers: {}, body: new Uint8Array(0) })
  t.match(
    lines.map((line) => JSON.parse(line).msg),
    ['subscriber too slow, messages dropped', 'subscription ended'],
  )
})
