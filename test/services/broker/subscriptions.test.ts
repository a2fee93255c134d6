import t, { type Test } from 'tap'
import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import type { Broker, Message } from '../../../core/contracts/broker.ts'
import { type BrokerOptions, createBroker } from '../../../domain/broker/broker.ts'
import { brokerUnavailable } from '../../../domain/broker/errors.ts'
import {
  createSubscriptions,
  type SubscriptionsOptions,
} from '../../../services/broker/subscriptions.ts'

const ID = 'broker.Broker.Subscribe'
const toMessage = (text: string): Message => ({ headers: {}, body: Buffer.from(text) })

function open(
  t: Test,
  options: Partial<SubscriptionsOptions> = {},
  adapter: Partial<Broker> = {},
  brokerOptions: BrokerOptions = {},
) {
  let subscribed = 0
  const memory = createMemoryBroker()
  const broker = createBroker(
    {
      ...memory,
      async subscribe(...all) {
        const stop = await memory.subscribe(...all)
        subscribed++
        return async () => {
          subscribed--
          await stop()
          throw new Error('unused stream')
        }
      },
      ...adapter,
    },
    { onDrop: () => {}, ...brokerOptions },
  )
  t.teardown(() => broker.close?.())
  const subscriptions = createSubscriptions({
    broker,
    maxSubscribers: 10,
    fits: () => true,
    ...options,
  })
  const begin = async (whenSlow: 'drop-new' | 'end' = 'drop-new') => {
    let messages: AsyncIterableIterator<Message> | undefined
    await new Promise<void>((resolve) => {
      messages = subscriptions.open('mx', 'mx.a', { whenSlow }, ID, resolve)
    })
    return messages!
  }
  const publish = (text: string) => broker.publish('mx.a', toMessage(text))
  return { broker, subscriptions, begin, publish, subscribed: () => subscribed }
}

async function readNext(messages: AsyncIterator<Message>): Promise<string> {
  return Buffer.from((await messages.next()).value.body).toString()
}

t.test('a subscriber receives messages in order until it leaves', async (t) => {
  const { begin, publish, subscriptions, subscribed } = open(t)
  const messages = await begin()
  await publish('1')
  await publish('2')
  t.equal(await readNext(messages), '1')
  t.equal(await readNext(messages), '2')
  t.equal(subscriptions.count(), 1)
  await messages.return!()
  t.equal(subscriptions.count(), 0)
  t.equal(subscribed(), 0)
})

t.test('no subscription remains if a subscriber leaves before it starts', async (t) => {
  const { subscriptions, subscribed } = open(t)
  let started = 0
  const messages = subscriptions.open('mx', 'mx.a', {}, ID, () => {
    started++
  })
  await messages.return!()
  await new Promise(setImmediate)
  t.same([started, subscribed(), subscriptions.count()], [0, 0, 0])
})

t.test('an error of the broker ends the stream with that error', async (t) => {
  for (const subscribe of [
    () => Promise.reject(brokerUnavailable(new Error('no'))),
    () => {
      throw brokerUnavailable(new Error('no'))
    },
  ]) {
    const { subscriptions } = open(t, {}, { subscribe })
    const messages = subscriptions.open('mx', 'mx.a', {}, ID, () =>
      t.fail('the subscription has not started'),
    )
    await t.rejects(messages.next(), { code: 503, message: 'the broker cannot be reached' })
    t.equal(subscriptions.count(), 0)
  }
})

t.test('with when_slow end, a slow subscriber is disconnected with 503', async (t) => {
  const { begin, publish, subscribed } = open(t, {}, {}, { maxWaiting: 5 })
  const messages = await begin('end')
  for (let i = 0; i < 1000; i++) {
    await publish(String(i))
    await new Promise(setImmediate)
  }
  await t.rejects(messages.next(), { code: 503, message: /too slow/ })
  t.equal(subscribed(), 0)
})

t.test('a message that does not fit is skipped', async (t) => {
  const { begin, publish } = open(t, { fits: ({ body }) => body.length < 3 })
  const messages = await begin()
  await publish('long')
  await publish('ok')
  t.equal(await readNext(messages), 'ok')
})

t.test('rejects a subscription beyond the limit with 429, and after close with 503', async (t) => {
  const { subscriptions, begin } = open(t, { maxSubscribers: 1 })
  const messages = await begin()
  t.throws(() => subscriptions.open('mx', 'mx.a', {}, ID, () => {}), {
    code: 429,
    id: ID,
    message: 'limit of 1 subscribers reached',
  })
  const last = messages.next()
  subscriptions.close()
  await t.rejects(last, { code: 503, message: 'the broker is stopping' })
  t.throws(() => subscriptions.open('mx', 'mx.a', {}, ID, () => {}), { code: 503, id: ID })
})
