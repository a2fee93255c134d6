import { join } from 'node:path'
import t from 'tap'
import { createJetStreamEvents } from '../../../adapters/events/jetstream.ts'
import { parseNatsUrl } from '../../../adapters/nats/url.ts'
import type { EventsAdapter } from '../../../core/contracts/events.ts'
import { GatewayError } from '../../../core/errors.ts'
import { createEvents } from '../../../domain/events/events.ts'
import { testEvents } from '../../contracts/events.ts'
import { testEventsModel } from '../../contracts/events-model.ts'
import { JET_TOPIC, startJetStream, toAppends } from '../../fixtures/jetstream.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { startNats } from '../../fixtures/nats.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.setTimeout(120_000)

const ALL = { from: 1, limit: 1000, maxBytes: 1e9 }
/** Permissions of a user according to docs/events.md. */
const MINIMUM_PERMISSIONS = {
  publish: '"mx.events.>", "mx.acks.>", "$JS.API.>", "$JS.ACK.>"',
  subscribe: '"mx.acks.>", "_INBOX.>"',
}
/** Adapters with separate streams, over sockets. */
const MODEL_RUNS = 30
const GROUP = { name: 'group', start: { sequence: 1 }, ackWaitMs: 60_000 }

t.test('fulfills the events contract', async (t) => {
  const server = await startNats(t, { jetStream: true })
  if (server === undefined) return
  let prefixes = 0
  testEvents(t, () => {
    const url = `${server.url}?prefix=test${++prefixes}`
    const open = () => createJetStreamEvents({ address: parseNatsUrl(url), onWarning() {} })
    return { adapter: open(), reopen: open, open }
  })
})

t.test('model', async (t) => {
  const server = await startNats(t, { jetStream: true })
  if (server === undefined) return
  let prefixes = 0
  const create = () => {
    const url = `${server.url}?prefix=model${++prefixes}`
    const open = () => createJetStreamEvents({ address: parseNatsUrl(url), onWarning() {} })
    return { adapter: open(), reopen: open }
  }
  // The server redelivers rejected events in the order of their rejections.
  testEventsModel(t, create, { numRuns: MODEL_RUNS, redelivery: 'in any order' })
})

t.test('accepts names of the maximum length', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  const [namespace, topic, name] = ['n', 't', 'g'].map((character) => character.repeat(253))
  const long = { namespace: namespace!, topic: topic! }
  t.same(await events.append(toAppends('a').map((append) => ({ ...append, topic: long }))), [1])
  const member = await events.join(long, { ...GROUP, name: name! })
  const [delivery] = await member.pull(1, 1e6)
  await delivery!.ack()
  t.match(await events.listTopics(long.namespace), [{ ...long, last: 1 }])
  t.match(await events.listGroups!(long), [{ name, acked: 1 }])
  t.equal((await events.read(long, ALL)).events.length, 1)
  t.equal(await events.deleteGroup!(long, name!), true)
})

t.test('fails with 503 during an outage of NATS and resumes after it', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  await events.append(toAppends('a'))
  const member = await events.join(JET_TOPIC, GROUP)
  const [a] = await member.pull(1, 1e6)
  await server.stop()
  const unavailable = { code: 503 }
  t.match((await events.append(toAppends('lost')))[0], unavailable)
  await t.rejects(async () => events.read(JET_TOPIC, ALL), unavailable)
  await t.rejects(async () => events.join(JET_TOPIC, GROUP), unavailable)
  await t.rejects(async () => events.listTopics(), unavailable)
  await t.rejects(async () => events.listGroups!(JET_TOPIC), unavailable)
  await t.rejects(async () => events.deleteGroup!(JET_TOPIC, 'group'), unavailable)
  await t.rejects(
    async () => events.retain!(JET_TOPIC, { maxAgeMs: 1, maxBytes: 0 }, 0),
    unavailable,
  )
  await t.rejects(async () => a!.ack(), unavailable)
  await a!.nack(0)
  const pulling = member.pull(1, 1e6)
  await server.start()
  const other = server.openEvents()
  await other.append(toAppends('b'))
  t.match(await pulling, [{ event: { sequence: 2 } }])
  t.match((await events.append(toAppends('c')))[0], 3)
})

t.test('treats a silent server as an outage and closes without waiting', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents({ timeoutMs: 300, pingMs: 60_000 })
  await events.append(toAppends('a'))
  const member = await events.join(JET_TOPIC, GROUP)
  await member.pull(1, 1e6)
  const pulling = member.pull(1, 1e6)
  server.freeze()
  keepAlive(t)
  t.match((await events.append(toAppends('b')))[0], { code: 503 })
  await events.close!()
  t.same(await pulling, [])
})

t.test('rejects appends on a full server but still serves reads', async (t) => {
  const folder = join(makeTempFolder(t, 'jetstream'), 'store')
  const server = await startJetStream(t, {
    jetStream: false,
    settings: [`jetstream { store_dir: ${JSON.stringify(folder)}, max_file_store: 1MB }`],
  })
  if (server === undefined) return
  const events = server.openEvents()
  const text = 'x'.repeat(100_000)
  const outcomes = await events.append(toAppends(...Array.from({ length: 12 }, () => text)))
  const stored = outcomes.filter((outcome) => typeof outcome === 'number')
  const failed = outcomes.filter((outcome) => outcome instanceof GatewayError)
  t.ok(stored.length > 5 && failed.length > 0, `${stored.length} stored, ${failed.length} not`)
  t.same([...new Set(failed.map(({ code }) => code))], [507])
  t.equal((await events.read(JET_TOPIC, ALL)).events.length, stored.length)
  // Retention frees space.
  await events.retain!(JET_TOPIC, { maxAgeMs: 0, maxBytes: 200_000 }, Date.now())
  t.equal((await events.append(toAppends('small')))[0], stored.length + 1)
})

t.test('distinguishes missing permissions from an outage', async (t) => {
  const user = (name: string, permissions: string) =>
    `{ user: ${name}, password: secret, permissions: ${permissions} }`
  const server = await startJetStream(t, {
    settings: [
      `authorization { users: [
        ${user('all', '{ publish: ">", subscribe: ">" }')}
        ${user('reader', '{ publish: { deny: ["mx.events.>"] } }')}
        ${user('stranger', '{ publish: { deny: ["$JS.>"] } }')}
        ${user('least', `{ publish: [${MINIMUM_PERMISSIONS.publish}], subscribe: [${MINIMUM_PERMISSIONS.subscribe}] }`)}
      ] }`,
    ],
  })
  if (server === undefined) return
  const open = (name: string) =>
    server.openEvents({ address: parseNatsUrl(server.url.replace('//', `//${name}:secret@`)) })
  const all = open('all')
  t.same(await all.append(toAppends('a')), [1])
  const reader = open('reader')
  t.match((await reader.append(toAppends('b')))[0], {
    code: 403,
    message: /denied by NATS: .*mx\.events\.mx\.orders/,
  })
  t.equal((await reader.read(JET_TOPIC, ALL)).events.length, 1)
  const otherEvents = open('stranger')
  t.match((await otherEvents.append(toAppends('c')))[0], { code: 403 })
  await t.rejects(async () => otherEvents.listTopics(), { code: 403 })
  await t.rejects(async () => otherEvents.join(JET_TOPIC, GROUP), { code: 403 })
  const restricted = open('least')
  t.same(await restricted.append(toAppends('d')), [2])
  const member = await restricted.join(JET_TOPIC, GROUP)
  const deliveries = await member.pull(2, 1e6)
  await deliveries[0]!.ack()
  await deliveries[1]!.nack(0)
  t.match(await restricted.listGroups!(JET_TOPIC), [{ name: 'group', acked: 1 }])
  await restricted.retain!(JET_TOPIC, { maxAgeMs: 1e9, maxBytes: 0 }, Date.now())
  t.equal((await restricted.read(JET_TOPIC, ALL)).events.length, 2)
  t.equal(await restricted.deleteGroup!(JET_TOPIC, 'group'), true)
  const invalid = open('nobody')
  await t.rejects(invalid.tried, { message: / rejected the connection: / })
  await t.rejects(async () => invalid.listTopics(), { code: 503, cause: { denied: true } })
})

t.test('keeps a dead letter when NATS is killed', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const opened = server.openEvents()
  await opened.listTopics()
  /** Calls by topic. Each call rewrites the stream settings. */
  const retained = new Map<string, Promise<unknown>>()
  const adapter: EventsAdapter = Object.assign(Object.create(opened), {
    async retain(...args: Parameters<NonNullable<EventsAdapter['retain']>>) {
      const done = Promise.resolve(opened.retain!(...args))
      retained.set(args[0].topic, done)
      return done
    },
  })
  const events = createEvents(adapter)
  t.teardown(() => events.close())
  t.ok(events.maxPayloadBytes < 1024 * 1024, 'a dead letter is longer and must fit')
  const { id } = await events.publish(JET_TOPIC, { payload: Buffer.from('bad') })
  // A rejection that NATS loses leads to a redelivery after the timeout, with a new count.
  const options = { autoAck: false, ackWaitMs: 500, retryLimit: 1, start: { sequence: 1 } }
  const consumer = await events.consume(JET_TOPIC, { ...options, group: 'group' })
  const deadLetterTopic = { ...JET_TOPIC, topic: 'orders.dead' }
  const deadLetters = await events.consume(deadLetterTopic, { start: { sequence: 1 } })
  const reading = deadLetters.next()
  async function rejectAll(): Promise<void> {
    for (;;) {
      const deliveries = await consumer.next()
      if (deliveries.length === 0) return
      for (const { event } of deliveries) await consumer.nack(event.id, 0)
    }
  }
  const [first] = await consumer.next()
  await consumer.nack(first!.event.id, 0)
  // After a kill between them and their checksum, nats-server 2.9.10 drops a stream at the start.
  await waitUntil(() => retained.size === 2)
  await Promise.all(retained.values())
  await server.kill()
  await server.start()
  const rejecting = rejectAll()
  const [deadLetter] = await reading
  t.match(deadLetter!.event.metadata, {
    'dead-id': id,
    'dead-group': 'group',
    'dead-attempts': '2',
    'dead-reason': 'nack',
  })
  t.equal(Buffer.from(deadLetter!.event.payload).toString(), 'bad')
  await consumer.leave()
  await rejecting
  t.match(await events.listGroups(JET_TOPIC), [{ name: 'group', acked: 1, pending: 0 }])
})

t.test('reports a server without JetStream', async (t) => {
  const server = await startJetStream(t, { jetStream: false })
  if (server === undefined) return
  const events = server.openEvents()
  const disabledError = { code: 503, cause: { message: 'jetstream is not enabled' } }
  await t.rejects(async () => events.listTopics(), disabledError)
  t.match((await events.append(toAppends('a')))[0], disabledError)
})

t.test('leaves nothing open after close', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  await events.append(toAppends('a', 'b'))
  const single = { name: undefined, start: {}, ackWaitMs: undefined }
  await Promise.all([events.join(JET_TOPIC, single), events.join(JET_TOPIC, GROUP)])
  const member = await events.join(JET_TOPIC, { ...GROUP, name: 'other' })
  const pulled = await member.pull(1, 1e6)
  await Promise.all([events.close!(), events.close!()])
  while ((await server.monitor('/connz'))['num_connections'] !== 0);
  const other = server.openEvents()
  const repeated = await other.join(JET_TOPIC, { ...GROUP, name: 'other' })
  t.match(await repeated.pull(1, 1e6), [{ event: { id: pulled[0]!.event.id }, attempt: 2 }])
  await t.rejects(async () => events.join(JET_TOPIC, GROUP), { code: 503 })
  t.match((await events.append(toAppends('c')))[0], { code: 503 })
})
