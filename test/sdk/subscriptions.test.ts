import t, { type Test } from 'tap'
import { createMemoryBroker } from '../../adapters/broker/memory.ts'
import type { Broker } from '../../core/contracts/broker.ts'
import { Type } from '../../core/schema.ts'
import { type Context, metadata } from '../../sdk/context.ts'
import { Subscriptions } from '../../sdk/subscriptions.ts'
import { until } from '../fixtures/raw-backend.ts'
import { createQuietLog } from '../fixtures/sdk-services.ts'

function open(t: Test, broker: Broker = createMemoryBroker()) {
  const { log, lines } = createQuietLog()
  const subscriptions = new Subscriptions(broker, 'greeter', log)
  t.teardown(() => subscriptions.end())
  const publish = (topic: string, body: unknown, headers: Record<string, string> = {}): void => {
    const bytes = typeof body === 'string' ? body : JSON.stringify(body)
    void broker.publish(topic, { headers, body: Buffer.from(bytes) })
  }
  return { broker, subscriptions, publish, lines }
}

t.test('Subscribing registers a handler that decodes the body.', async (t) => {
  const { subscriptions, publish } = open(t)
  const seen: [unknown, Context][] = []
  subscriptions.add('events', (message, ctx) => void seen.push([message, ctx]), {})
  publish('events', { too: 'early' })
  await subscriptions.begin()
  publish('events', { a: 1 })
  publish('events', '', { 'content-type': 'application/json' })
  publish('events', '[1]', { 'content-type': 'application/cloudevents+json', 'x-tenant': 'acme' })
  publish('events', 'ä', { 'content-type': 'text/plain' })
  await until(() => seen.length === 4)
  t.strictSame(
    seen.map(([message]) =>
      message instanceof Uint8Array ? Buffer.from(message).toString() : message,
    ),
    [{ a: 1 }, {}, [1], 'ä'],
  )
  const [, ctx] = seen[2]!
  t.strictSame(metadata.get(ctx, 'X-Tenant'), ['acme', true])
  t.strictSame([ctx.service, ctx.endpoint], ['greeter', 'events'])
})

t.test(
  'a message that does not fit its schema, or is no JSON, is logged and dropped',
  async (t) => {
    const { subscriptions, publish, lines } = open(t)
    const names: string[] = []
    subscriptions.add('people', ({ name }) => void names.push(name), {
      message: Type.Object({ name: Type.String() }),
    })
    await subscriptions.begin()
    publish('people', { name: 5 })
    publish('people', '{"name":')
    publish('people', '{"__proto__":{},"name":"x"}')
    publish('people', { name: 'John' })
    await until(() => names.length === 1)
    t.strictSame(names, ['John'])
    t.equal(lines.length, 3)
    t.match(lines[0], /a subscriber failed/)
    t.match(lines[0], /message\.name must be a string, got 5/)
    t.match(lines[1], /message must be JSON/)
  },
)

t.test('handler error return is only logged', async (t) => {
  const { subscriptions, publish, lines } = open(t)
  let handled = 0
  subscriptions.add(
    'events',
    async () => {
      handled++
      throw new Error('no')
    },
    {},
  )
  await subscriptions.begin()
  publish('events', {})
  publish('events', {})
  await until(() => handled === 2 && lines.length === 2)
  t.match(JSON.parse(lines[0]!), { topic: 'events', msg: 'a subscriber failed' })
})

t.test('broadcast to every node unless a queue option is given', async (t) => {
  const broker = createMemoryBroker()
  const counts = { all: [0, 0], queue: [0, 0] }
  for (const node of [0, 1]) {
    const { subscriptions } = open(t, broker)
    subscriptions.add('a', () => void counts.all[node]!++, {})
    subscriptions.add('a', () => void counts.queue[node]!++, { queue: 'workers' })
    await subscriptions.begin()
  }
  const { publish } = open(t, broker)
  for (let i = 0; i < 10; i++) publish('a', {})
  await until(() => counts.all[0]! + counts.all[1]! + counts.queue[0]! + counts.queue[1]! === 30)
  t.strictSame(counts, { all: [10, 10], queue: [5, 5] })
})

t.test('ending waits for the messages that are being handled, and takes no more', async (t) => {
  const { subscriptions, publish } = open(t)
  let begun = 0
  let done = 0
  let release: () => void = () => {}
  subscriptions.add(
    'a',
    async () => {
      begun++
      await new Promise<void>((resolve) => {
        release = resolve
      })
      done++
    },
    {},
  )
  await subscriptions.begin()
  publish('a', {})
  publish('a', {})
  await until(() => begun === 1)
  const ended = subscriptions.end()
  publish('a', {})
  release()
  await ended
  t.strictSame([begun, done], [1, 1])
})

t.test('a topic or queue that is none keeps the service from starting', async (t) => {
  for (const [topic, queue] of [
    ['a b', undefined],
    ['a', '..'],
  ] as const) {
    const { subscriptions } = open(t)
    subscriptions.add(topic, () => {}, queue === undefined ? {} : { queue })
    await t.rejects(subscriptions.begin(), { code: 400 })
  }
})
