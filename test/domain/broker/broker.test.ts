import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import type {
  Broker,
  Message,
  MessageHandler,
  Unsubscribe,
} from '../../../core/contracts/broker.ts'
import type { GatewayError } from '../../../core/errors.ts'
import {
  type BrokerOptions,
  type CheckedBroker,
  createBroker,
} from '../../../domain/broker/broker.ts'
import { WHEN_SLOW } from '../../../domain/broker/delivery.ts'

const EMPTY = new Uint8Array(0)

function open(t: Test, options: BrokerOptions = {}, adapter: Partial<Broker> = {}): CheckedBroker {
  const broker = createBroker({ ...createMemoryBroker(), ...adapter }, options)
  t.teardown(() => broker.close?.())
  return broker
}

/** Resolves with the next message of a topic. */
function next(broker: Broker, topic: string): Promise<Message> {
  return new Promise((resolve) => {
    void broker.subscribe(topic, resolve)
  })
}

t.test('accepts topics and queues named like services', async (t) => {
  const broker = open(t)
  for (const name of ['orders', 'go.mx.api.v1.foo', 'go=mx=api.foo', 'a-b_c.D9', 'x'.repeat(253)]) {
    const message = next(broker, name)
    await broker.publish(name, { headers: {}, body: EMPTY })
    t.ok(await message, name)
  }
  const invalid = [
    '',
    '.',
    'a.',
    '.a',
    'a..b',
    '*',
    'a.>',
    'a b',
    'a/b',
    'a\r\nb',
    '__proto__',
    'é',
  ]
  for (const name of [...invalid, '$SYS.x', 'x'.repeat(254)]) {
    const expected = { code: 400, id: 'broker', message: /^topic must be letters, digits/ }
    t.throws(() => broker.publish(name, { headers: {}, body: EMPTY }), expected, name)
    t.throws(() => broker.subscribe(name, () => {}), expected, name)
    t.throws(() => broker.subscribe('orders', () => {}, { queue: name }), {
      ...expected,
      message: /^queue must be/,
    })
  }
  t.throws(() => broker.publish('x'.repeat(10_000), { headers: {}, body: EMPTY }), {
    message: /^.{200,400}$/,
  })
})

t.test('rejects a message body over the limit with 400 and the limit', async (t) => {
  const broker = open(t, { maxBodyBytes: 10 })
  t.equal(broker.maxBodyBytes, 10)
  const message = next(broker, 'orders')
  t.throws(() => broker.publish('orders', { headers: {}, body: new Uint8Array(11) }), {
    code: 400,
    id: 'broker',
    message: 'body must be at most 10 bytes, got 11',
  })
  await broker.publish('orders', { headers: {}, body: new Uint8Array(10) })
  t.equal((await message).body.length, 10)
})

t.test('applies the lower of two limits', async (t) => {
  t.equal(open(t).maxBodyBytes, 16 * 1024 * 1024)
  t.equal(open(t, { maxBodyBytes: 10 }, { maxBodyBytes: 5 }).maxBodyBytes, 5)
  t.equal(open(t, { maxBodyBytes: 5 }, { maxBodyBytes: 10 }).maxBodyBytes, 5)
})

t.test('delivers header names in lower case', async (t) => {
  const broker = open(t)
  const message = next(broker, 'orders')
  const headers = JSON.parse('{"Content-Type":"a/b","X-Y":"1","__proto__":"odd"}')
  await broker.publish('orders', { headers, body: EMPTY })
  const received = (await message).headers
  t.same(Object.entries(received), [
    ['content-type', 'a/b'],
    ['x-y', '1'],
    ['__proto__', 'odd'],
  ])
  t.equal(received['constructor'], undefined)
})

t.test('rejects malformed headers with a reason', async (t) => {
  const broker = open(t)
  const invalid: [Record<string, string>, number, RegExp][] = [
    [{ 'a b': '1' }, 400, /header name must be a token, got "a b"/],
    [{ '': '1' }, 400, /header name must be a token/],
    [{ a: '1\r\nb: 2' }, 400, /header a must not contain control characters/],
    [{ a: '\u{1f600}' }, 400, /header a must not contain control characters/],
    [{ 'content-length': '5' }, 400, /the gateway manages the header content-length/],
    [{ a: 'x'.repeat(65_536) }, 400, /^headers must be at most 65536 bytes/],
  ]
  for (const [headers, code, message] of invalid) {
    t.throws(() => broker.publish('orders', { headers, body: EMPTY }), { code, message })
  }
})

t.test('waits for an asynchronous adapter and reports its failure', async (t) => {
  const memory = createMemoryBroker()
  const fault = new Error('the connection is lost')
  let failing = true
  const broker = open(
    t,
    {},
    {
      publish: async (topic, message) => {
        if (failing) throw fault
        await memory.publish(topic, message)
      },
      subscribe: async (topic, handler, options) => {
        if (failing) throw fault
        return memory.subscribe(topic, handler, options)
      },
    },
  )
  const attempts = [
    async () => broker.publish('orders', { headers: {}, body: EMPTY }),
    async () => void (await broker.subscribe('orders', () => {})),
  ]
  for (const attempt of attempts) await t.rejects(attempt(), fault)
  failing = false
  const received: Message[] = []
  const stop = await broker.subscribe('orders', (message) => {
    received.push(message)
  })
  const message = next(broker, 'orders')
  await broker.publish('orders', { headers: {}, body: EMPTY })
  await message
  t.equal(received.length, 1)
  await stop()
})

t.test('delivers nothing to a subscription that completes after close', async (t) => {
  let completeSubscribe: () => void = () => {}
  let push: (message: Message) => unknown = () => {}
  const broker = open(
    t,
    {},
    {
      subscribe: (_, handler) => {
        push = handler
        return new Promise((resolve) => {
          completeSubscribe = () => resolve(() => {})
        })
      },
    },
  )
  const received: Message[] = []
  const pending = broker.subscribe('orders', (message) => {
    received.push(message)
  })
  void broker.close?.()
  completeSubscribe()
  await pending
  push({ headers: {}, body: EMPTY })
  await new Promise((resolve) => setImmediate(resolve))
  t.same(received, [])
})

t.test('counts dropped messages of subscribers that left', async (t) => {
  const broker = open(t, { maxWaiting: 1, onDrop: () => {} })
  const stop = await broker.subscribe('orders', () => {})
  for (let i = 0; i < 5; i++) await broker.publish('orders', { headers: {}, body: EMPTY })
  const before = broker.dropped
  t.ok(before > 0)
  await stop()
  t.equal(broker.dropped, before)
  await broker.close?.()
  t.equal(broker.dropped, before)
})

t.test('reads the limits of the adapter for each message', async (t) => {
  let maxBodyBytes: number | undefined
  const adapter = createMemoryBroker()
  const broker = createBroker(
    {
      ...adapter,
      get maxBodyBytes() {
        return maxBodyBytes
      },
    } as Broker,
    { maxBodyBytes: 10 },
  )
  t.equal(broker.maxBodyBytes, 10)
  maxBodyBytes = 5
  t.equal(broker.maxBodyBytes, 5)
  t.throws(() => broker.publish('orders', { headers: {}, body: new Uint8Array(6) }), { code: 400 })
})

t.test('applies the slow-consumer policy of each subscription', async (t) => {
  const broker = createBroker(createMemoryBroker(), {
    maxWaiting: 2,
    whenSlow: 'drop-old',
    onDrop: () => {},
  })
  const received: Record<string, string[]> = {}
  const ends: GatewayError[] = []
  const unsubscribes: Record<string, Unsubscribe> = {}
  for (const whenSlow of [undefined, ...WHEN_SLOW]) {
    const texts: string[] = []
    received[String(whenSlow)] = texts
    unsubscribes[String(whenSlow)] = await broker.subscribe(
      'orders',
      ({ body }) => {
        texts.push(Buffer.from(body).toString())
      },
      { ...(whenSlow && { whenSlow }), onEnd: (error) => ends.push(error) },
    )
  }
  const publish = (texts: readonly string[]) => {
    for (const text of texts)
      void broker.publish('orders', { headers: {}, body: Buffer.from(text) })
  }
  publish(['1', '2', '3', '4'])
  while (received['drop-new']!.length < 2) await turn()
  t.same(received, {
    undefined: ['3', '4'],
    'drop-new': ['1', '2'],
    'drop-old': ['3', '4'],
    end: [],
  })
  t.equal(broker.dropped, 2 + 2 + 2 + 3)
  t.equal(broker.ended, 1)
  t.match(ends, [
    { code: 503, message: 'the subscriber of orders is too slow; its subscription has ended' },
  ])
  publish(['5'])
  while (received['drop-new']!.length < 3) await turn()
  t.same(received['end'], [], 'the subscription has ended')
  await unsubscribes['end']!()
  t.equal(broker.dropped, 9)
})

t.test(
  'a subscription that ends while the adapter opens it is closed in the adapter',
  async (t) => {
    let push: MessageHandler = () => {}
    let completeSubscribe: (stop: Unsubscribe) => void = () => {}
    const adapter: Broker = {
      name: 'late',
      publish() {},
      subscribe(_, handler) {
        push = handler
        return new Promise((resolve) => {
          completeSubscribe = resolve
        })
      },
    }
    const broker = createBroker(adapter, { maxWaiting: 1, whenSlow: 'end', onDrop: () => {} })
    const subscribing = broker.subscribe('orders', () => {})
    for (let i = 0; i < 2; i++) push({ headers: {}, body: new Uint8Array(1) })
    let stops = 0
    completeSubscribe(async () => {
      stops++
      throw new Error('never awaited')
    })
    await (await subscribing)()
    t.equal(stops, 1)
  },
)

t.test('a subscription that the adapter rejects leaves no state', async (t) => {
  const failing = (fail: () => never): Broker => ({ name: 'no', publish() {}, subscribe: fail })
  const error = new Error('no')
  const sync = createBroker(
    failing(() => {
      throw error
    }),
  )
  t.throws(() => sync.subscribe('orders', () => {}), error)
  const lateBroker = createBroker(failing(() => Promise.reject(error) as never))
  await t.rejects(lateBroker.subscribe('orders', () => {}) as Promise<unknown>, error)
})
