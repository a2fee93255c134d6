import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import { Channel } from '../../../core/rpc/ws/channel.ts'
import { createDomains } from '../../../services/registry/domains.ts'
import { createWatches, type WatchEvent } from '../../../services/registry/watches.ts'
import { openPlatformRegistry, toRegistration } from '../../fixtures/platform-registry.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { RecordedCall } from '../../fixtures/rpc.ts'
import { makeService } from '../../fixtures/services.ts'

/** Headers of a call over the HTTP transport. */
const DEFAULTS = {
  'Content-Type': 'application/json',
  'Mx-Service': 'registry',
  'Mx-Endpoint': 'Registry.Watch',
}
const GREETER = toRegistration('greeter', ['127.0.0.1:9001'])

/** A registry that counts its watchers. */
function createCounted() {
  const listening = { count: 0 }
  const createRegistry = (): Registry => {
    const registry = createMemoryRegistry()
    return {
      ...registry,
      watch(listener, options) {
        const stop = registry.watch!(listener, options)
        listening.count++
        return () => {
          listening.count--
          stop()
        }
      },
    }
  }
  return { listening, createRegistry }
}

function openChannel(t: Test, address: string): Channel {
  const channel = new Channel({ host: '127.0.0.1', port: Number(address.split(':')[1]) })
  t.teardown(() => channel.close())
  return channel
}

/** A call over the WebSocket transport. */
function toWatch(body = '{}'): RecordedCall {
  return new RecordedCall({ service: 'registry', endpoint: 'Registry.Watch', body, stream: true })
}

async function next(events: AsyncIterableIterator<WatchEvent>): Promise<string> {
  const { value } = await events.next()
  const { action, service, timestamp } = value as WatchEvent
  return `${action} ${service.name} ${service.version} ${service.nodes.map(({ port }) => port)} at ${timestamp}`
}

t.test('streams every change and expiry with its time, but no heartbeats', async (t) => {
  const { call, watch, clock } = await openPlatformRegistry(t)
  const events = watch({ service: 'greeter' })
  clock.seconds = 10
  await call('Register', GREETER)
  await call('Register', GREETER)
  t.equal(await next(events), 'create greeter latest 9001 at 10')
  await call('Register', toRegistration('greeter', ['127.0.0.1:9002'], { options: { ttl: 500 } }))
  t.equal(await next(events), 'update greeter latest 9001,9002 at 10')
  await call('Register', { ...GREETER, version: 'v2' })
  t.equal(await next(events), 'create greeter v2 9001 at 10')
  clock.seconds = 99
  await call('Deregister', { ...GREETER, version: 'v2' })
  t.equal(await next(events), 'delete greeter v2  at 99')
  clock.seconds = 100
  t.equal(await next(events), 'update greeter latest 9002 at 100')
  await events.return?.()
})

t.test('the stream starts before the first event, over WebSocket and HTTP', async (t) => {
  // On Node.js 20 the uws listener sends the head of a response only with its first bytes (docs/limits.md).
  const { address, registry } = await openPlatformRegistry(t, { listener: 'node' })
  const fast = toWatch('{"service":"greeter"}')
  openChannel(t, address).call(fast)
  const reply = await fetch(`http://${address}/`, {
    method: 'POST',
    headers: DEFAULTS,
    body: '{"service":"greeter"}',
  })
  t.equal(reply.status, 200)
  await waitUntil(() => fast.events.length > 0)
  t.strictSame(fast.events, ['start ""'])
  await registry.register?.(makeService('other', ['a:1']))
  await registry.register?.(makeService('greeter', ['a:1']))
  const reader = reply.body!.getReader()
  const line = Buffer.from((await reader.read()).value ?? '').toString()
  t.match(JSON.parse(line), { action: 'create', service: { name: 'greeter' } })
  await waitUntil(() => fast.events.length > 1)
  t.equal(`${fast.events[1]}\n`, `data ${line}`)
  await reader.cancel()
  fast.cancel()
})

t.test('a watch is limited to its service and domain', async (t) => {
  const { call, watch } = await openPlatformRegistry(t)
  const one = watch({ service: 'users' })
  const staging = watch({ options: { domain: 'staging' } })
  const all = watch({ options: { domain: '*' } })
  await call('Register', { ...GREETER, options: { domain: 'staging' } })
  await call('Register', GREETER)
  await call('Register', toRegistration('users', ['a:1']))
  await call('Register', toRegistration('users', ['a:1'], { options: { domain: 'staging' } }))
  const result = async (events: AsyncIterableIterator<WatchEvent>): Promise<string> => {
    const { service } = (await events.next()).value as WatchEvent
    return `${service.name} in ${service.metadata['domain']}`
  }
  t.equal(await result(one), 'users in mx')
  t.strictSame(
    [await result(staging), await result(staging)],
    ['greeter in staging', 'users in staging'],
  )
  t.strictSame(
    [await result(all), await result(all), await result(all)],
    ['greeter in staging', 'greeter in mx', 'users in mx'],
  )
  for (const events of [one, staging, all]) await events.return?.()
})

t.test('a slow watcher receives the last state of each version', async (t) => {
  const { call, watch, registry } = await openPlatformRegistry(t)
  const events = watch()
  await call('ListServices')
  const changes = 20_000
  for (let i = 0; i < changes; i++) {
    const metadata = { count: String(i) }
    await registry.register?.({ ...makeService(`s${i % 5}`, ['a:1']), metadata })
    // Yields to let events be sent, so that the limit of the stream applies and not the limit of one tick.
    if (i % 100 === 0) await new Promise(setImmediate)
  }
  const last = new Map<string, string | undefined>()
  let notifications = 0
  while ([...last.values()].filter((count) => Number(count) >= changes - 5).length < 5) {
    const { service } = (await events.next()).value as WatchEvent
    last.set(service.name, service.metadata['count'])
    notifications++
  }
  t.ok(notifications < changes / 4, `${notifications} events`)
  await events.return?.()
})

t.test('a watcher is removed when it leaves, disconnects or aborts its request', async (t) => {
  const { listening, createRegistry } = createCounted()
  const { address, call, watch } = await openPlatformRegistry(t, {
    createRegistry,
    listener: 'node',
  })
  const before = listening.count
  const streams = Array.from({ length: 10 }, (_, i) => watch(i % 2 === 0 ? {} : { service: 'a' }))
  await call('ListServices')
  t.equal(listening.count, before + 6, 'watches of all services share one watch')
  for (const stream of streams) await stream.return?.()
  await waitUntil(() => listening.count === before)
  const controller = new AbortController()
  const { signal } = controller
  await fetch(`http://${address}/`, { method: 'POST', headers: DEFAULTS, body: '{}', signal })
  t.equal(listening.count, before + 1)
  controller.abort()
  await waitUntil(() => listening.count === before)
  const channel = openChannel(t, address)
  const calls = Array.from({ length: 10 }, () => toWatch())
  for (const call of calls) channel.call(call)
  await waitUntil(() => calls.every(({ events }) => events.length > 0))
  t.equal(listening.count, before + 1)
  channel.close()
  await waitUntil(() => listening.count === before)
  t.pass('no watchers remain')
})

t.test('rejects a watcher beyond the limit with 429 until another one leaves', async (t) => {
  const { call, watch } = await openPlatformRegistry(t, { maxWatchers: 4 })
  const [first] = [watch(), watch()]
  await t.rejects(watch().next(), {
    id: 'registry.Registry.Watch',
    code: 429,
    message: 'too many watchers for anonymous callers: 2',
  })
  await first?.return?.()
  await call('ListServices')
  const secondWatch = watch()
  await call('Register', GREETER)
  t.match((await secondWatch.next()).value, { action: 'create' })
})

t.test('all watchers receive one shared event object', async (t) => {
  const domains = createDomains(() => createMemoryRegistry())
  t.teardown(domains.close)
  const watches = createWatches({ domains, maxWatchers: 10, onOmit: () => {}, nowMs: () => 7000 })
  const feeds = ['', '', 'greeter'].map((service) => watches.open('mx', service, 'mx', 'registry'))
  const { registry } = domains.open('mx', 'registry')
  await registry.register?.(makeService('greeter', ['a:1']))
  const reported: WatchEvent[] = []
  for (const feed of feeds) for await (const event of feed) if (reported.push(event)) break
  t.match(reported[0], { action: 'create', service: { name: 'greeter' }, timestamp: 7 })
  t.ok(reported.every((event) => event === reported[0]) && reported.length === 3)
  t.equal(watches.count(), 0)
})

t.test('close ends the streams with 503 without waiting for them', async (t) => {
  const { call, watch, close } = await openPlatformRegistry(t)
  const events = watch({ service: 'greeter' })
  await call('ListServices')
  const startedMs = performance.now()
  await close()
  await t.rejects(events.next(), { code: 503, message: 'the registry is stopping' })
  t.ok(performance.now() - startedMs < 9000, 'close waits up to 10 s for calls in flight')
})
