// NATS servers that restart, freeze, reject connections or have other clients.
import { connect, headers as createHeaders } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { createNatsBroker, type NatsBrokerOptions } from '../../../adapters/broker/nats.ts'
import { parseNatsUrl } from '../../../adapters/nats/url.ts'
import type { Message } from '../../../core/contracts/broker.ts'
import { GatewayError } from '../../../core/errors.ts'
import { createBroker } from '../../../domain/broker/broker.ts'
import { type NatsServer, startNats } from '../../fixtures/nats.ts'
import { tick, waitUntil } from '../../fixtures/raw-backend.ts'

function open(t: Test, url: string, options: Partial<NatsBrokerOptions> = {}) {
  const warnings: string[] = []
  const adapter = createNatsBroker({
    address: parseNatsUrl(url),
    onWarning: (message) => warnings.push(message),
    ...options,
  })
  const broker = createBroker(adapter)
  t.teardown(() => broker.close?.())
  return { adapter, broker, warnings }
}

const toMessage = (text: string, headers: Record<string, string> = {}): Message => ({
  headers,
  body: Buffer.from(text),
})
const getText = ({ body }: Message): string => Buffer.from(body).toString()
const countSubscriptions = async (server: NatsServer): Promise<unknown> => {
  const connections = (await server.monitor('/connz?subs=1'))['connections'] as {
    readonly subscriptions: number
  }[]
  return connections.map(({ subscriptions }) => subscriptions).sort()
}

t.test('loses at most the reported number of messages when NATS restarts under load', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const { broker, warnings } = open(t, server.url)
  const { broker: receiver } = open(t, server.url)
  const received = new Set<number>()
  let duplicates = 0
  await receiver.subscribe('load', (message) => {
    const n = Number(getText(message))
    if (n >= 0 && received.has(n)) duplicates++
    received.add(n)
  })
  // The subscriber misses messages independently of the publisher: the publisher subscribes, too.
  const echoed = new Set<number>()
  await broker.subscribe('load', (message) => {
    echoed.add(Number(getText(message)))
  })
  let next = 0
  let accepted = 0
  const rejections: unknown[] = []
  let done = false
  let slowestMs = 0
  const load = (async () => {
    while (!done) {
      for (let i = 0; i < 20; i++) {
        const started = performance.now()
        try {
          await broker.publish('load', toMessage(String(next++)))
          accepted++
        } catch (error) {
          rejections.push(error)
        }
        slowestMs = Math.max(slowestMs, performance.now() - started)
      }
      await tick()
    }
  })()
  for (let round = 0; round < 5; round++) {
    const before = accepted
    await waitUntil(() => accepted > before + 500)
    await server.kill()
    const rejected = rejections.length
    await waitUntil(() => rejections.length > rejected)
    await server.start()
    const receivedBefore = echoed.size
    await waitUntil(() => echoed.size > receivedBefore + 100)
  }
  done = true
  await load
  // The receiver may reconnect later, because its reconnect delays are independent.
  while (!echoed.has(-1) || !received.has(-1)) {
    await broker.publish('load', toMessage('-1'))
    await tick()
  }
  const reportedLost = warnings
    .map((text) => Number(/connection lost; (\d+) unconfirmed messages/.exec(text)?.[1] ?? 0))
    .reduce((sum, count) => sum + count)
  t.ok(
    accepted - (echoed.size - 1) <= reportedLost,
    `${accepted} accepted, ${echoed.size - 1} received, ${reportedLost} reported as lost`,
  )
  t.equal(duplicates, 0, 'at most once')
  for (const error of rejections) {
    if (error instanceof GatewayError && error.code === 503 && error.id === 'broker') continue
    t.fail(`rejected with ${error}`)
  }
  t.ok(rejections.length > 0)
  t.ok(slowestMs < 5000, `slowest publish: ${slowestMs} ms`)
  t.same(await countSubscriptions(server), [1, 1])
  t.equal((await server.monitor('/varz'))['connections'], 2)
})

t.test('rejects publishing during an outage and resumes subscriptions after it', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const { broker, warnings } = open(t, server.url)
  const received: string[] = []
  const unsubscribe = await broker.subscribe('a', (message) => void received.push(getText(message)))
  const unsubscribeOther = await broker.subscribe('a', () => {}, { queue: 'q' })
  await server.stop()
  await waitUntil(() => warnings.length > 0)
  const unavailable = { code: 503, id: 'broker', message: 'the broker cannot be reached' }
  await t.rejects(async () => broker.publish('a', toMessage('1')), {
    ...unavailable,
    cause: { message: /^NATS at nats:\/\/127\.0\.0\.1:\d+ is unreachable/ },
  })
  await t.rejects(async () => broker.subscribe('b', () => {}), unavailable)
  await unsubscribeOther()
  await server.start()
  await waitUntil(() => warnings.length > 1)
  await broker.publish('a', toMessage('2'))
  await waitUntil(() => received.length > 0)
  t.same(received, ['2'])
  t.same(await countSubscriptions(server), [1], 'removed subscriptions are not renewed')
  await unsubscribe()
  t.same(await countSubscriptions(server), [0])
})

t.test('waits at most one connection attempt for an unreachable server', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  await server.stop()
  const { broker, adapter } = open(t, server.url)
  await t.rejects(async () => broker.publish('a', toMessage('1')), { code: 503 })
  t.equal(await adapter.tried, undefined)
  t.equal(broker.maxBodyBytes, 16 * 1024 * 1024, 'the limit of the server is unknown yet')
  await server.start()
  await waitUntil(() => broker.maxBodyBytes === 1024 * 1024)
  await broker.publish('a', toMessage('2'))
})

t.test('limits the bytes buffered for a frozen server without blocking publishers', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const maxUnconfirmedBytes = 8 * 1024 * 1024
  const { broker } = open(t, server.url, { maxUnconfirmedBytes, pingMs: 60_000 })
  const received: number[] = []
  await broker.subscribe('a', ({ body }) => void received.push(body.length))
  server.freeze()
  const body = new Uint8Array(100_000)
  let accepted = 0
  const publish = (): void => {
    void broker.publish('a', { headers: {}, body })
    accepted++
  }
  t.throws(
    () => {
      while (accepted < 1000) publish()
    },
    { code: 503, cause: { message: /the server is too slow: \d+ unconfirmed bytes/ } },
  )
  t.ok(accepted <= maxUnconfirmedBytes / body.length, `${accepted} messages were accepted`)
  t.ok(accepted >= maxUnconfirmedBytes / body.length - 2)
  server.resume()
  await waitUntil(() => received.length === accepted)
  publish()
  await waitUntil(() => received.length === accepted)
})

t.test('receives each message once for all local subscribers of a topic', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const { broker, warnings } = open(t, server.url)
  const received: string[] = []
  const join = (name: string) =>
    broker.subscribe('a', (message) => void received.push(`${name} ${getText(message)}`))
  const unsubscribes = await Promise.all(['one', 'two', 'three'].map(join))
  await broker.subscribe('a', () => {}, { queue: 'q' })
  await broker.subscribe('a', () => {}, { queue: 'q' })
  t.same(await countSubscriptions(server), [3])
  await broker.publish('a', toMessage('1'))
  await waitUntil(() => received.length === 3)
  await unsubscribes[0]!()
  await server.kill()
  await waitUntil(() => warnings.length > 0)
  await server.start()
  await waitUntil(() => warnings.length > 1)
  const unsubscribe = await join('four')
  await broker.publish('a', toMessage('2'))
  await waitUntil(() => received.length === 6)
  t.same(received.sort(), ['four 2', 'one 1', 'three 1', 'three 2', 'two 1', 'two 2'])
  for (const each of [...unsubscribes, unsubscribe]) await each()
  t.same(await countSubscriptions(server), [2], 'one subscription per queue member')
  await join('five')
  await broker.publish('a', toMessage('3'))
  await waitUntil(() => received.includes('five 3'))
})

t.test('delivers a message to one member of a queue across gateways', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const brokers = Array.from({ length: 3 }, () => open(t, server.url).broker)
  const received: string[][] = [[], [], []]
  for (const [i, broker] of brokers.entries())
    await broker.subscribe('a', (message) => void received[i]!.push(getText(message)), {
      queue: 'q',
    })
  const texts = Array.from({ length: 300 }, (_, i) => String(i))
  for (const [i, text] of texts.entries()) await brokers[i % 3]!.publish('a', toMessage(text))
  await waitUntil(() => received.flat().length === texts.length)
  t.same(received.flat().sort(), texts.sort())
  for (const texts of received) t.ok(texts.length > 0)
})

t.test("applies the server's size limit including headers", async (t) => {
  const server = await startNats(t, { settings: ['max_payload: 1000'] })
  if (server === undefined) return
  const { broker } = open(t, server.url)
  const received: number[] = []
  await broker.subscribe('a', ({ body }) => void received.push(body.length))
  t.equal(broker.maxBodyBytes, 1000)
  await broker.publish('a', { headers: {}, body: new Uint8Array(1000) })
  await t.rejects(async () => broker.publish('a', { headers: {}, body: new Uint8Array(1001) }), {
    code: 400,
    message: 'body must be at most 1000 bytes, got 1001',
  })
  await t.rejects(
    async () => broker.publish('a', { headers: { a: 'b' }, body: new Uint8Array(1000) }),
    {
      code: 400,
      message: 'body and headers must be at most 1000 bytes, got 1018',
    },
  )
  await waitUntil(() => received.length > 0)
  t.same(received, [1000])
})

t.test('distinguishes a rejection from an outage without exposing secrets', async (t) => {
  const server = await startNats(t, { settings: ['authorization { token: "right" }'] })
  if (server === undefined) return
  const { broker, adapter, warnings } = open(t, `nats://s3cret@127.0.0.1:${server.port}`)
  const rejected = { denied: true, message: /rejected the connection: .*Authorization Violation/i }
  await t.rejects(adapter.tried, rejected)
  await t.rejects(async () => broker.publish('a', toMessage('1')), { code: 503, cause: rejected })
  t.equal(warnings.length, 1)
  t.notMatch(warnings[0], /s3cret/)
})

t.test('rejects a topic that the server denies', async (t) => {
  const permissions = '{ publish: "mx.broker.mine", subscribe: "mx.broker.mine" }'
  const server = await startNats(t, {
    settings: [`authorization { users: [{ user: a, password: b, permissions: ${permissions} }] }`],
  })
  if (server === undefined) return
  const { broker, warnings } = open(t, `nats://a:b@127.0.0.1:${server.port}`)
  await t.rejects(async () => broker.subscribe('yours', () => {}), {
    code: 403,
    message: 'NATS denied the subscription to mx.broker.yours',
  })
  await t.rejects(async () => broker.subscribe('yours', () => {}), {
    code: 403,
    message: /^NATS denied the subscription to /,
  })
  t.same(await countSubscriptions(server), [0])
  const received: string[] = []
  await broker.subscribe('mine', (message) => void received.push(getText(message)))
  await broker.publish('yours', toMessage('1'))
  await broker.publish('mine', toMessage('2'))
  await waitUntil(() => received.length > 0 && warnings.length > 1)
  t.same(received, ['2'])
  t.match(warnings, [
    /Permissions Violation for Subscription to "mx\.broker\.yours"/i,
    /Permissions Violation for Publish to "mx\.broker\.yours"/i,
  ])
})

t.test('interoperates with plain NATS clients', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const { broker } = open(t, `${server.url}?prefix=acme`)
  const other = await connect({ servers: `127.0.0.1:${server.port}` })
  t.teardown(() => other.close())
  const received: Message[] = []
  await broker.subscribe('go.orders', (message) => void received.push(message))
  const headers = createHeaders()
  headers.append('Content-Type', 'application/json')
  headers.append('X-Name', 'Zoë')
  other.publish('acme.broker.go.orders', '{"id":1}', { headers })
  other.publish('acme.broker.go.orders', 'plain')
  other.publish('acme.broker.go', 'not for it')
  await waitUntil(() => received.length >= 2)
  t.same(
    { ...received[0]!.headers },
    {
      'content-type': 'application/json',
      'x-name': Buffer.from('Zoë').toString('latin1'),
    },
  )
  t.equal(getText(received[0]!), '{"id":1}')
  t.same(received[1]!.headers, {})
  const messages: string[] = []
  other.subscribe('acme.broker.>', {
    callback: (_, message) =>
      void messages.push(`${message.headers?.get('x-id')} ${message.string()}`),
  })
  await other.flush()
  const body = Buffer.from('mine')
  void broker.publish('go.orders', { headers: { 'x-id': '5' }, body })
  body.fill('x')
  await waitUntil(() => messages.length > 0)
  t.same(messages, ['5 mine'], 'the caller may reuse the body immediately')
})
