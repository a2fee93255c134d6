import { once } from 'node:events'
import t, { type Test } from 'tap'
import { createLmdbEvents } from '../../../adapters/events/lmdb.ts'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { createAuthorizer } from '../../../core/auth/authorizer.ts'
import { Client } from '../../../sdk/client/client.ts'
import { openChannel } from '../../../sdk/events/event-channel.ts'
import { createEvents } from '../../../sdk/events/events.ts'
import { createAccount, MemoryAuthSource } from '../../fixtures/auth-source.ts'
import { openPlatformEvents } from '../../fixtures/platform-events.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

/** Opens an events service that can be stopped, and started again with its data. */
async function open(t: Test) {
  const folder = makeTempFolder(t, 'channel')
  const registry = createMemoryRegistry()
  const client = new Client({ registry, inProcess: false, retries: 0 })
  t.teardown(() => client.close())
  const start = () => openPlatformEvents(t, { registry, adapter: createLmdbEvents({ folder }) })
  let platform = await start()
  return {
    events: createEvents(client),
    stop: () => platform.close(),
    async restart() {
      platform = await start()
    },
  }
}

t.test(
  'without a group, a channel continues after the last event when the service restarts',
  async (t) => {
    const { events, stop, restart } = await open(t)
    for (const n of [1, 2, 3]) await events.publish('a', n)
    const channel = events.consume('a', { offset: 1 })
    const take = async () => (await channel.next()).value!.unmarshal()
    t.equal(await take(), 1)
    await stop()
    await restart()
    t.equal(await take(), 2)
    t.equal(await take(), 3)
    const next = take()
    await stop()
    await restart()
    await events.publish('a', 4)
    t.equal(await next, 4)
    await channel.return!()
  },
)

t.test(
  'events published during an outage are delivered even if none was consumed before',
  async (t) => {
    const { events, stop, restart } = await open(t)
    await events.publish('a', 1)
    const channel = events.consume('a')
    const next = channel.next()
    // The consumer is registered by then, because its request precedes this one.
    await events.topics()
    await stop()
    await restart()
    await events.publish('a', 2)
    t.equal((await next).value!.unmarshal(), 2)
    await channel.return!()
  },
)

t.test('with a group, unacknowledged events are redelivered after a restart', async (t) => {
  const { events, stop, restart } = await open(t)
  for (const n of [1, 2, 3]) await events.publish('a', n)
  const channel = events.consume('a', { group: 'g', offset: 1, autoAck: false })
  const take = async () => (await channel.next()).value!
  const first = await take()
  await take()
  await first.ack()
  // The acknowledgement has arrived once a later call returns.
  await events.topics()
  await stop()
  await restart()
  // Events in flight may arrive first.
  const repeated: string[] = []
  while (repeated.length < 2) {
    const event = await take()
    if (event.attempt === 2) repeated.push(String(event.unmarshal()))
    await event.ack()
  }
  t.strictSame(repeated, ['2', '3'])
  await channel.return!()
})

t.test(
  'without a group and with autoAck: false, an outage ends the channel with 503',
  async (t) => {
    const { events, stop } = await open(t)
    await events.publish('a', 1)
    const channel = events.consume('a', { offset: 1, autoAck: false })
    await channel.next()
    const next = t.rejects(channel.next(), { name: 'ServiceError', code: 503 })
    await stop()
    await next
  },
)

t.test('deleting the group ends its channel with 410', async (t) => {
  const { events } = await open(t)
  await events.publish('a', 1)
  const channel = events.consume('a', { group: 'g', offset: 1, autoAck: false })
  await channel.next()
  const next = t.rejects(channel.next(), { code: 410 })
  await events.deleteGroup('a', 'g')
  await next
})

t.test('without an events service, consuming fails with 404', async (t) => {
  const client = new Client({ registry: createMemoryRegistry() })
  t.teardown(() => client.close())
  await t.rejects(createEvents(client).consume('a').next(), { code: 404 })
})

t.test('exiting the loop or aborting ends a channel in any state', async (t) => {
  const { events, stop } = await open(t)
  const waiting = events.consume('a')
  const nextEvent = waiting.next()
  await waiting.return!()
  t.same(await nextEvent, { done: true, value: undefined })
  const { signal, abort } = new (class extends AbortController {
    override abort = super.abort.bind(this)
  })()
  const aborted = events.consume('a', { signal })
  const reason = t.rejects(aborted.next(), { name: 'AbortError' })
  const outcome = once(signal, 'abort')
  abort()
  await outcome
  await reason
  const pending = events.consume('a', { offset: 1 })
  await events.publish('a', 1)
  await pending.next()
  const next = pending.next()
  await stop()
  await pending.return!()
  t.same(await next, { done: true, value: undefined })
})

t.test(
  'a channel continues with a new token if one ends, and fails with 401 if it is rejected',
  async (t) => {
    const source = new MemoryAuthSource()
    const authorizer = createAuthorizer(source)
    t.teardown(authorizer.close)
    const admin = createAccount({ scopes: ['admin'] })
    const { events, client } = await openPlatformEvents(t, { authorizer })
    let token = await source.issue(admin, { id: 'one' })
    const channel = openChannel({
      client,
      call: {
        metadata: {
          get authorization() {
            return `Bearer ${token}`
          },
        },
      },
      begin: async () => ({
        topic: 'a',
        sequence: 1,
        auto_ack: true,
        retry_limit: 0,
        max_in_flight: 0,
      }),
      acks: 'service',
      resumes: true,
    })
    const take = async () => (await channel.next()).value!.unmarshal()
    const publish = (text: string) =>
      events.publish({ namespace: 'mx', topic: 'a' }, { payload: Buffer.from(text) })
    await publish('1')
    t.equal(await take(), 1)
    const next = take()
    token = await source.issue(admin, { id: 'two' })
    source.revoke('one')
    await publish('2')
    t.equal(await next, 2)
    const rejected = take()
    source.revoke('two')
    await t.rejects(rejected, { code: 401 })
  },
)
