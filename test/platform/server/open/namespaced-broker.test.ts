import t from 'tap'
import { createMemoryBroker } from '../../../../adapters/broker/memory.ts'
import type { Message } from '../../../../core/contracts/broker.ts'
import { createBroker } from '../../../../domain/broker/broker.ts'
import { withNamespaces } from '../../../../platform/server/open/namespaced-broker.ts'

t.test('prefixes a topic with the namespace of the message, or the default one', async (t) => {
  const broker = createBroker(createMemoryBroker())
  t.teardown(() => broker.close?.())
  const received: Message[] = []
  let onMessage = (): void => {}
  for (const topic of ['mx.orders', 'shop.orders'])
    await broker.subscribe(topic, (message) => {
      received.push(message)
      onMessage()
    })
  const { publish, maxBodyBytes } = withNamespaces(broker)
  t.equal(maxBodyBytes, broker.maxBodyBytes)
  const bothReceived = new Promise<void>((resolve) => {
    onMessage = () => received.length === 2 && resolve()
  })
  const body = Buffer.from('{}')
  await publish('orders', { headers: { a: 'b' }, body })
  await publish('orders', { headers: { 'mx-namespace': 'shop', 'mx-topic': 'orders' }, body })
  await bothReceived
  t.same(
    received.map(({ headers }) => ({ ...headers })),
    [
      { a: 'b', 'mx-topic': 'mx.orders', 'mx-namespace': 'mx' },
      { 'mx-namespace': 'shop', 'mx-topic': 'shop.orders' },
    ],
  )
  for (const invalid of ['a b', 'acme=eu'])
    t.throws(() => publish('orders', { headers: { 'mx-namespace': invalid }, body }), {
      code: 400,
      message: /^Mx-Namespace must be/,
    })
})
