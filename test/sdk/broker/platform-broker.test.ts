import { once } from 'node:events'
import t, { type Test } from 'tap'
import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import type { Message } from '../../../core/contracts/broker.ts'
import { createBroker } from '../../../domain/broker/broker.ts'
import { createPlatformBroker } from '../../../sdk/broker/platform-broker.ts'
import type { Client } from '../../../sdk/client/client.ts'
import { badGateway, ServiceError } from '../../../sdk/errors.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { createBrokerService } from '../../../services/broker/service.ts'
import { testBroker } from '../../contracts/broker.ts'
import { openPlatformBroker } from '../../fixtures/platform-broker.ts'
import { tick, waitUntil } from '../../fixtures/raw-backend.ts'
import {
  createQuietLog,
  createService,
  openClient,
  openRegistry,
} from '../../fixtures/sdk-services.ts'

const toMessage = (text: string): Message => ({ headers: {}, body: Buffer.from(text) })
const getText = ({ body }: Message): string => Buffer.from(body).toString()

function open(t: Test, client: Client, namespace?: string) {
  const warnings: string[] = []
  const report = (message: string): void => void warnings.push(message)
  const broker = createPlatformBroker({
    client,
    ...{ onWarning: report, onInfo: report },
    ...(namespace !== undefined && { call: { namespace } }),
  })
  t.teardown(() => broker.close?.())
  return { broker, warnings }
}

t.test('satisfies the broker contract over sockets', async (t) => {
  const { client } = await openPlatformBroker(t)
  let namespaces = 0
  testBroker(t, () => createPlatformBroker({ client, call: { namespace: `n${++namespaces}` } }))
})

t.test('satisfies the broker contract within the process', async (t) => {
  const registry = openRegistry(t)
  await openPlatformBroker(t, { registry })
  const client = openClient(t, { registry, inProcess: true })
  let namespaces = 0
  testBroker(t, () => createPlatformBroker({ client, call: { namespace: `n${++namespaces}` } }))
})

t.test('a message is delivered only in its namespace', async (t) => {
  const { client } = await openPlatformBroker(t)
  const [acme, other] = [open(t, client, 'acme').broker, open(t, client, 'other').broker]
  const received: string[] = []
  await acme.subscribe('a', (message) => void received.push(getText(message)))
  await other.publish('a', toMessage('1'))
  await acme.publish('a', toMessage('2'))
  await waitUntil(() => received.length > 0)
  t.same(received, ['2'])
})

t.test('fails with 404 without a broker service', async (t) => {
  const registry = openRegistry(t)
  const { broker } = open(t, openClient(t, { registry }))
  const error = { code: 404, message: 'service not found: broker' }
  await t.rejects(async () => broker.publish('a', toMessage('1')), error)
  await t.rejects(async () => broker.subscribe('a', () => {}), error)
  await broker.close?.()
  await t.rejects(async () => broker.subscribe('a', () => {}), { code: 503 })
})

t.test('a subscription is restored after a restart of the service', async (t) => {
  const adapter = createBroker(createMemoryBroker())
  t.teardown(() => adapter.close?.())
  let address = '127.0.0.1:0'
  const start = async () => {
    const service = createBrokerService({
      broker: adapter,
      address,
      log: createQuietLog('broker').log,
    })
    t.teardown(service.close)
    address = await service.service.start()
    return service
  }
  let service = await start()
  const { broker, warnings } = open(t, openClient(t, { address, retries: 0 }))
  const received = new Set<string>()
  const unsubscribe = await broker.subscribe('a', (message) => void received.add(getText(message)))
  let next = 0
  let accepted = 0
  const codes = new Set<number>()
  let done = false
  const load = (async () => {
    while (!done) {
      try {
        await broker.publish('a', toMessage(String(next++)))
        accepted++
      } catch (error) {
        codes.add((error as { code: number }).code)
      }
      await tick()
    }
  })()
  for (let round = 1; round <= 3; round++) {
    await waitUntil(() => received.size >= round * 100)
    await service.close()
    await waitUntil(() => warnings.length === 2 * round - 1)
    const before = received.size
    service = await start()
    await waitUntil(() => warnings.length === 2 * round && received.size > before)
  }
  done = true
  await load
  t.match(warnings.slice(0, 2), [
    /^the subscription to a failed: .*; subscribing again$/,
    /^the subscription to a was restored after \d+ ms$/,
  ])
  t.ok(received.size <= accepted)
  for (const code of codes) t.ok([502, 503].includes(code), `rejected with ${code}`)
  t.equal(service.subscribers(), 1)
  await unsubscribe()
  await waitUntil(() => service.subscribers() === 0)
})

t.test('a subscription that is cancelled during an outage is not restored', async (t) => {
  const { client, close, broker: checked } = await openPlatformBroker(t)
  const { broker, warnings } = open(t, client)
  const unsubscribe = await broker.subscribe('a', () => void t.fail('the subscriber has left'))
  await broker.subscribe('b', () => void t.fail('the broker was closed'))
  await close()
  await waitUntil(() => warnings.length === 2)
  await unsubscribe()
  await broker.close?.()
  await checked.publish('mx.a', toMessage('1'))
  t.equal(warnings.length, 2)
})

t.test('a subscription ends with its client, with a warning', async (t) => {
  const { client } = await openPlatformBroker(t)
  const { broker, warnings } = open(t, client)
  await broker.subscribe('a', () => {})
  client.close()
  await waitUntil(() => warnings.length > 0)
  t.same(warnings, ['the subscription to a has ended: the client is closed'])
})

t.test('a subscription that is rejected on restore ends with a warning', async (t) => {
  const registry = openRegistry(t)
  const create = (rejection?: number) =>
    createService(t, { name: 'broker', registry }).handle('Broker', {
      subscribe: endpoint({
        stream: 'server',
        async *handle(_: unknown, ctx) {
          if (rejection !== undefined) throw new ServiceError('broker', rejection, 'access denied')
          ctx.start()
          await once(ctx.signal, 'abort')
          yield {}
        },
      }),
    })
  const first = create()
  await first.start()
  const { broker, warnings } = open(t, openClient(t, { registry }))
  await broker.subscribe('a', () => {})
  await create(401).start()
  await first.stop({ timeoutMs: 1 })
  await waitUntil(() => warnings.length === 2)
  t.match(warnings[0], /^the subscription to a failed: .*; subscribing again$/)
  t.equal(warnings[1], 'the subscription to a has ended: access denied')
})

t.test('the server counts messages dropped in the queue of a subscriber', async (t) => {
  const platform = await openPlatformBroker(t)
  const { broker: adapter } = open(t, platform.client)
  const drops: number[] = []
  const onDrop = (_: unknown, count: number) => drops.push(count)
  const broker = createBroker(adapter, { maxWaiting: 1, reportMs: 1, onDrop })
  let isBusy = false
  await broker.subscribe('a', () => {
    isBusy = true
    return new Promise(() => {})
  })
  const publish = () => platform.broker.publish('mx.a', toMessage('x'))
  await publish()
  await waitUntil(() => isBusy)
  for (let i = 0; i < 9; i++) await publish()
  await waitUntil(() => platform.broker.droppedRemotely === 8)
  t.equal(broker.dropped, 8, 'one message is in progress and one is queued')
  t.match(await platform.client.call('broker', 'Broker.Stats', {}), {
    dropped: 0,
    dropped_remotely: 8,
  })
  t.equal(
    drops.reduce((sum, count) => sum + count),
    8,
    'reported drops add up to all drops',
  )
})

t.test(
  'an announced stop of the service is logged as info, and a lost connection as warning',
  async (t) => {
    const { client, close } = await openPlatformBroker(t)
    const warnings: string[] = []
    const infos: string[] = []
    const broker = createPlatformBroker({
      client,
      onWarning: (message) => warnings.push(message),
      onInfo: (message) => infos.push(message),
    })
    t.teardown(() => broker.close?.())
    await broker.subscribe('a', () => {})
    await close()
    await waitUntil(() => infos.length > 0)
    t.match(infos, [/^the subscription to a failed: the broker is stopping; subscribing again$/])
    t.same(warnings, [])

    const disconnected = createPlatformBroker({
      client: {
        stream: () => ({
          begun: async () => {},
          cancel() {},
          async next() {
            throw badGateway('broker', 'bad gateway: the service closed the connection')
          },
          [Symbol.asyncIterator]() {
            return this
          },
        }),
      } as unknown as Client,
      onWarning: (message) => warnings.push(message),
    })
    await disconnected.subscribe('b', () => {})
    await waitUntil(() => warnings.length > 0)
    await disconnected.close?.()
    t.match(warnings[0], /^the subscription to b failed: bad gateway/)
  },
)
