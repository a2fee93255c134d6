import t from 'tap'
import { brokerUnavailable } from '../../../domain/broker/errors.ts'
import { openPlatformBroker, type WireMessage } from '../../fixtures/platform-broker.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const getText = ({ body }: WireMessage): string => Buffer.from(body, 'base64').toString()

t.test('a message reaches only the subscribers of its topic in its namespace', async (t) => {
  const { publish, subscribe, subscribers } = await openPlatformBroker(t)
  const acmeMessages = subscribe({ topic: 'orders' }, { namespace: 'acme' })
  const others = subscribe({ topic: 'orders' })
  const [first, second] = [acmeMessages.next(), others.next()]
  await waitUntil(() => subscribers() === 2)
  // Publishes until the first message arrives, because only that shows that the subscription has started.
  let isReceived = false
  void first.then(() => {
    isReceived = true
  })
  while (!isReceived)
    await publish(
      {
        topic: 'orders',
        message: { header: { 'Content-Type': 'application/json', 'x-a': 'b' }, body: base64('{}') },
      },
      { namespace: 'acme' },
    )
  const { value } = await first
  t.equal(getText(value), '{}')
  t.strictSame(value.header, {
    'content-type': 'application/json',
    'x-a': 'b',
    'mx-topic': 'acme.orders',
    'mx-namespace': 'acme',
  })
  await publish({ topic: 'orders', message: { body: base64('mine') } })
  t.equal(getText((await second).value), 'mine')
  await acmeMessages.return!()
  await others.return!()
  await waitUntil(() => subscribers() === 0)
})

t.test('the orders topic of namespace acme.eu is not the eu.orders topic of acme', async (t) => {
  const { publish, subscribe, subscribers } = await openPlatformBroker(t)
  const outer = subscribe({ topic: 'eu.orders' }, { namespace: 'acme' })
  const inner = subscribe({ topic: 'orders' }, { namespace: 'acme.eu' })
  const [toOuter, toInner] = [outer.next(), inner.next()]
  await waitUntil(() => subscribers() === 2)
  const send = (topic: string, namespace: string) =>
    publish({ topic, message: { body: base64(namespace) } }, { namespace })
  await send('orders', 'acme.eu')
  await send('eu.orders', 'acme')
  for (const [outcome, namespace] of [
    [toOuter, 'acme'],
    [toInner, 'acme.eu'],
  ] as const) {
    const { value } = await outcome
    t.equal(getText(value), namespace)
    t.equal(value.header['mx-topic'], 'acme.eu.orders', 'the topic of the header is not encoded')
    t.equal(value.header['mx-namespace'], namespace)
  }
  await outer.return!()
  await inner.return!()
})

t.test(
  'one member of a queue receives a message, and namespaces do not share queues',
  async (t) => {
    const { publish, subscribe, subscribers, broker } = await openPlatformBroker(t)
    const received: string[] = []
    const read = async (name: string, namespace: string): Promise<void> => {
      for await (const message of subscribe({ topic: 'a', queue: 'q' }, { namespace }))
        received.push(`${name} ${getText(message)}`)
    }
    const reading = [read('one', 'acme'), read('two', 'acme'), read('other', 'mx')]
    await waitUntil(() => subscribers() === 3)
    // In the process, topics and queues have the prefix of the namespace.
    let inProcess = 0
    await broker.subscribe(
      'acme.a',
      () => {
        inProcess++
      },
      { queue: 'acme.q' },
    )
    for (let i = 0; i < 9; i++)
      await publish({ topic: 'a', message: { body: base64(String(i)) } }, { namespace: 'acme' })
    await waitUntil(() => received.length + inProcess === 9)
    t.equal(new Set(received.map((text) => text.split(' ')[1])).size, received.length)
    t.notOk(received.some((text) => text.startsWith('other')))
    t.ok(inProcess > 0)
    void Promise.allSettled(reading)
  },
)

t.test(
  'rejects a missing or malformed field of Publish and Subscribe with 400 and its name',
  async (t) => {
    const { publish, subscribe } = await openPlatformBroker(t)
    const message = { body: '' }
    const invalidUrls: [object, RegExp][] = [
      [{}, /^Missing topic$/],
      [{ topic: '', message }, /^Missing topic$/],
      [{ topic: 'a' }, /^Missing message$/],
      [{ topic: 'a b', message }, /^request\.topic must be .*, got "a b"$/],
      [{ topic: '>', message }, /^request\.topic must be/],
      [{ topic: 'a', message: { body: '%' } }, /request\.message\.body must be base64/],
      [{ topic: 'a', message: { header: { 'a b': '1' } } }, /header name must be a token/],
      [{ topic: 'a', message: { header: { a: 'b\r\nc' } } }, /header a must not contain control/],
    ]
    for (const [request, text] of invalidUrls)
      await t.rejects(publish(request), { code: 400, message: text }, JSON.stringify(request))
    await t.rejects(publish({}), { id: 'broker.Broker.Publish', message: 'Missing topic' })
    for (const [request, text] of [
      [{}, /^Missing topic$/],
      [{ topic: '*' }, /^request\.topic must be/],
      [{ topic: 'a', queue: 'a b' }, /^request\.queue must be/],
      [{ topic: 'a', when_slow: 'wait' }, /request\.when_slow/],
    ] as const)
      await t.rejects(subscribe(request).next(), { code: 400, message: text })
  },
)

t.test('mx-* headers set by a publisher are removed', async (t) => {
  const { publish, broker } = await openPlatformBroker(t)
  const received: object[] = []
  await broker.subscribe('mx.a', ({ headers }) => void received.push({ ...headers }))
  const header = { 'Mx-Account': '{"id":"admin"}', 'mx-topic': 'other', 'mx-namespace': 'x' }
  await publish({ topic: 'a', message: { header } })
  await waitUntil(() => received.length > 0)
  t.strictSame(received, [{ 'mx-topic': 'mx.a', 'mx-namespace': 'mx' }])
})

t.test('Publish and Subscribe return 503 while the broker is unreachable', async (t) => {
  const fail = () => Promise.reject(brokerUnavailable(new Error('NATS is unavailable')))
  const { publish, subscribe } = await openPlatformBroker(t, {
    adapter: { name: 'unavailable', publish: fail, subscribe: fail },
  })
  const error = { code: 503, id: 'broker', message: 'the broker cannot be reached' }
  await t.rejects(publish({ topic: 'a', message: {} }), error)
  await t.rejects(subscribe({ topic: 'a' }).next(), error)
})

t.test('Stats counts messages dropped for slow subscribers and subscriptions ended', async (t) => {
  const { client, broker } = await openPlatformBroker(t, { brokerOptions: { maxWaiting: 2 } })
  const stats = () => client.call('broker', 'Broker.Stats', {})
  t.strictSame(await stats(), { subscribers: 0, dropped: 0, dropped_remotely: 0, ended: 0 })
  const waitForever = (): Promise<void> => new Promise(() => {})
  await broker.subscribe('mx.a', waitForever)
  await broker.subscribe('mx.a', waitForever, { whenSlow: 'end' })
  for (let i = 0; i < 5; i++) await broker.publish('mx.a', { headers: {}, body: Buffer.from('x') })
  t.match(await stats(), { subscribers: 0, dropped: 6, ended: 1 })
})
