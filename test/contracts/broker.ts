import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Broker, Message } from '../../core/contracts/broker.ts'
import type { GatewayError } from '../../core/errors.ts'
import { type BrokerOptions, type CheckedBroker, createBroker } from '../../domain/broker/broker.ts'
import type { Subscription } from '../../domain/broker/delivery.ts'
import type { Maybe } from '../../lib/async/maybe.ts'

const TOPIC = 'go.mx.api.orders'

/** Contract of brokers, behind `createBroker`. */
export function testBroker(t: Test, create: () => Maybe<Broker>): void {
  const open = async (t: Test, options: BrokerOptions = {}): Promise<CheckedBroker> => {
    const broker = createBroker(await create(), options)
    t.teardown(() => broker.close?.())
    return broker
  }

  t.test('contract: delivers from many publishers to many subscribers', async (t) => {
    const broker = await open(t)
    const received: string[][] = [[], [], []]
    for (const texts of received) {
      await broker.subscribe(TOPIC, (message) => {
        texts.push(getText(message))
      })
    }
    await Promise.all(
      ['one', 'two', 'three'].map(async (text) => broker.publish(TOPIC, toMessage(text))),
    )
    await waitUntil(() => received.every((texts) => texts.length >= 3))
    for (const texts of received) t.same(texts.toSorted(), ['one', 'three', 'two'])
  })

  t.test('contract: delivers only messages of the subscribed topic', async (t) => {
    const broker = await open(t)
    const received: string[] = []
    await broker.subscribe(TOPIC, (message) => {
      received.push(getText(message))
    })
    for (const topic of ['orders', 'go.mx.api', `${TOPIC}.eu`, 'GO.mx.api.orders', 'constructor']) {
      await broker.publish(topic, toMessage(topic))
    }
    await broker.publish(TOPIC, toMessage('mine'))
    await waitUntil(() => received.length > 0)
    t.same(received, ['mine'])
  })

  t.test('contract: does not deliver messages published before the subscription', async (t) => {
    const broker = await open(t)
    await broker.publish(TOPIC, toMessage('before'))
    const received: string[] = []
    await broker.subscribe(TOPIC, (message) => {
      received.push(getText(message))
    })
    await broker.publish(TOPIC, toMessage('after'))
    await waitUntil(() => received.length > 0)
    t.same(received, ['after'])
  })

  t.test('contract: delivers a message unchanged', async (t) => {
    const broker = await open(t)
    const received: Message[] = []
    await broker.subscribe(TOPIC, (message) => {
      received.push(message)
    })
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
    const headers = { 'content-type': 'application/octet-stream', 'x-trace': 'caf\xe9, \t"1"' }
    await broker.publish(TOPIC, { headers, body: bytes })
    bytes.fill(0)
    await broker.publish(TOPIC, { headers: {}, body: new Uint8Array(0) })
    await waitUntil(() => received.length >= 2)
    const [full, empty] = received.toSorted((a, b) => b.body.length - a.body.length)
    t.same(userHeaders(full!), headers)
    t.same(
      [...full!.body],
      Array.from({ length: 256 }, (_, i) => i),
    )
    t.same(userHeaders(empty!), {})
    t.equal(empty!.body.length, 0)
  })

  t.test('contract: delivers a message to one member of each queue', async (t) => {
    const broker = await open(t)
    const members = { billing: [[], [], []], mail: [[], []] } as Record<string, string[][]>
    for (const [queue, all] of Object.entries(members)) {
      for (const texts of all) {
        await broker.subscribe(
          TOPIC,
          (message) => {
            texts.push(getText(message))
          },
          { queue },
        )
      }
    }
    const single: string[] = []
    await broker.subscribe(TOPIC, (message) => {
      single.push(getText(message))
    })
    const texts = Array.from({ length: 200 }, (_, i) => `n${i}`)
    for (const text of texts) await broker.publish(TOPIC, toMessage(text))
    const { billing, mail } = members
    await waitUntil(() =>
      [billing!.flat(), mail!.flat(), single].every(({ length }) => length >= texts.length),
    )
    for (const received of [billing!.flat(), mail!.flat(), single]) {
      t.same(received.toSorted(), texts.toSorted(), 'each message once')
    }
    for (const received of [...billing!, ...mail!])
      t.ok(received.length > 0, 'every member has its share')
  })

  t.test('contract: separates queues of the same name by topic', async (t) => {
    const broker = await open(t)
    const received: string[] = []
    for (const topic of [TOPIC, 'users']) {
      await broker.subscribe(
        topic,
        (message) => {
          received.push(`${topic} ${getText(message)}`)
        },
        { queue: 'mail' },
      )
    }
    await broker.publish(TOPIC, toMessage('1'))
    await broker.publish('users', toMessage('2'))
    await waitUntil(() => received.length >= 2)
    t.same(received.toSorted(), [`${TOPIC} 1`, 'users 2'])
  })

  t.test('contract: delivers to the remaining members after one left the queue', async (t) => {
    const broker = await open(t)
    const received: string[] = []
    const join = (name: string) =>
      broker.subscribe(
        TOPIC,
        (message) => {
          received.push(`${name} ${getText(message)}`)
        },
        { queue: 'mail' },
      )
    const unsubscribeFirst = await join('first')
    const unsubscribeSecond = await join('second')
    await unsubscribeFirst()
    for (const text of ['1', '2', '3']) await broker.publish(TOPIC, toMessage(text))
    await waitUntil(() => received.length >= 3)
    t.same(received.toSorted(), ['second 1', 'second 2', 'second 3'])
    await unsubscribeSecond()
    await join('third')
    await broker.publish(TOPIC, toMessage('4'))
    await waitUntil(() => received.length >= 4)
    t.equal(received.at(-1), 'third 4')
  })

  t.test(
    'contract: delivers nothing after unsubscribing and leaves other subscriptions open',
    async (t) => {
      const broker = await open(t)
      const received: string[] = []
      const handler = (message: Message): void => {
        received.push(getText(message))
      }
      const stop = await broker.subscribe(TOPIC, handler)
      await broker.subscribe(TOPIC, handler)
      await broker.publish(TOPIC, toMessage('both'))
      await waitUntil(() => received.length >= 2)
      await stop()
      await stop()
      await broker.publish(TOPIC, toMessage('one'))
      await broker.publish(TOPIC, toMessage('last'))
      await waitUntil(() => received.includes('last'))
      t.same(received, ['both', 'both', 'one', 'last'])
    },
  )

  t.test(
    'contract: a subscriber that throws affects neither publishers nor other subscribers',
    async (t) => {
      const errors: [Subscription, unknown][] = []
      const broker = await open(t, { onError: (...error) => errors.push(error) })
      const fault = new Error('a faulty subscriber')
      const received: string[] = []
      await broker.subscribe(TOPIC, () => {
        throw fault
      })
      await broker.subscribe(TOPIC, () => Promise.reject(fault), { queue: 'mail' })
      await broker.subscribe(TOPIC, (message) => {
        received.push(getText(message))
      })
      await broker.publish(TOPIC, toMessage('1'))
      await broker.publish(TOPIC, toMessage('2'))
      await waitUntil(() => received.length >= 2 && errors.length >= 4)
      t.same(received.toSorted(), ['1', '2'])
      const events = errors.map(([{ topic, queue }, error]) => [topic, queue, error === fault])
      t.same(
        events.filter(([, queue]) => queue === undefined).length,
        2,
        'each continues after the error',
      )
      t.same(events.filter(([, queue]) => queue === 'mail').length, 2)
      t.ok(events.every(([topic, , same]) => topic === TOPIC && same))
    },
  )

  t.test(
    'contract: a slow subscriber never blocks a publisher; its excess messages are dropped and counted',
    async (t) => {
      const drops: [Subscription, number][] = []
      const broker = await open(t, { maxWaiting: 10, onDrop: (...drop) => drops.push(drop) })
      const release: (() => void)[] = []
      let slow = 0
      await broker.subscribe(TOPIC, async () => {
        slow++
        await new Promise<void>((resolve) => release.push(resolve))
      })
      let fast = 0
      await broker.subscribe(TOPIC, () => {
        fast++
      })
      for (let i = 1; i <= 100; i++) {
        await broker.publish(TOPIC, toMessage(String(i)))
        await waitUntil(() => fast === i)
      }
      t.equal(slow, 1, 'it still handles the first message')
      t.equal(broker.dropped, 100 - 1 - 10, 'ten messages are pending')
      t.same(
        drops,
        [[{ topic: TOPIC, queue: undefined }, 1]],
        'the first drop is reported immediately',
      )
      for (let n = 1; n <= 11; n++) {
        await waitUntil(() => slow === n)
        release.shift()!()
      }
      await waitUntil(() => drops.length > 1)
      t.same(
        drops[1],
        [{ topic: TOPIC, queue: undefined }, 88],
        'the other drops are reported once the subscriber has caught up',
      )
      await broker.publish(TOPIC, toMessage('more'))
      await waitUntil(() => slow === 12)
      t.equal(broker.dropped, 89)
      release.shift()!()
    },
  )

  t.test('contract: disconnects a slow subscriber with an error if whenSlow is end', async (t) => {
    const broker = await open(t, { maxWaiting: 10, whenSlow: 'end', onDrop: () => {} })
    const ends: GatewayError[] = []
    await broker.subscribe(TOPIC, () => new Promise<void>(() => {}), {
      onEnd: (error) => ends.push(error),
    })
    let fast = 0
    await broker.subscribe(TOPIC, () => {
      fast++
    })
    for (let i = 1; i <= 100; i++) {
      await broker.publish(TOPIC, toMessage(String(i)))
      await waitUntil(() => fast === i)
    }
    t.match(ends, [{ code: 503, id: 'broker', message: /too slow; its subscription has ended/ }])
    t.equal(broker.ended, 1)
    t.equal(broker.dropped, 11, 'ten pending messages and one beyond the limit')
  })

  t.test('contract: a closed broker delivers nothing and rejects messages', async (t) => {
    const broker = await open(t)
    const received: string[] = []
    const stop = await broker.subscribe(TOPIC, (message) => {
      received.push(getText(message))
    })
    await broker.publish(TOPIC, toMessage('1'))
    await broker.close?.()
    const attempts = [
      async () => broker.publish(TOPIC, toMessage('2')),
      async () => void (await broker.subscribe(TOPIC, () => {})),
    ]
    for (const attempt of attempts) {
      await t.rejects(attempt(), { code: 503, id: 'broker', message: 'the broker is closed' })
    }
    await stop()
    await broker.close?.()
    await delay(0)
    t.same(received, [])
  })
}

function toMessage(text: string): Message {
  return { headers: { 'content-type': 'text/plain' }, body: Buffer.from(text) }
}

function getText({ body }: Message): string {
  return Buffer.from(body).toString()
}

/** Omits metadata that a platform adds to a message. */
function userHeaders({ headers }: Message): object {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('mx-')))
}

/** Waits for messages that a remote broker may deliver a little later. */
async function waitUntil(condition: () => boolean): Promise<void> {
  const endMs = performance.now() + 5000
  while (!condition()) {
    if (performance.now() > endMs) throw new Error('did not happen within 5 s')
    await delay(1)
  }
}
