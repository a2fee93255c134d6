import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { createStaticRegistry } from '../../../adapters/registry/static.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import { withLocalServices } from '../../../platform/server/with-local-services.ts'
import { notImplemented, unavailable } from '../../../sdk/errors.ts'
import { register } from '../../../sdk/service/registration.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'
import { makeService } from '../../fixtures/services.ts'

const entry = makeService('greeter', ['127.0.0.1:9001'])

/** Opens a memory registry with a clock that the test sets. */
function open(t: Test): { registry: Registry; advanceTo: (ms: number) => void } {
  let now = 0
  const registry = createMemoryRegistry({ nowMs: () => now })
  t.teardown(() => registry.close?.())
  return {
    registry,
    advanceTo: (ms) => {
      now += ms
    },
  }
}

const listNodes = async (registry: Registry): Promise<number> =>
  (await registry.getService('greeter')).flatMap(({ nodes }) => nodes).length

t.test('a registration expires after a TTL of 90 seconds without renewal', async (t) => {
  const { registry, advanceTo } = open(t)
  const { log } = createQuietLog()
  const registration = await register({ registry, entry, log })
  t.equal(await listNodes(registry), 1)
  advanceTo(89_999)
  t.equal(await listNodes(registry), 1)
  advanceTo(1)
  t.equal(await listNodes(registry), 0)
  await registration.end()
})

t.test('a heartbeat restarts the TTL', async (t) => {
  const { registry, advanceTo } = open(t)
  const { log } = createQuietLog()
  let notifications = 0
  const counting: Registry = {
    ...registry,
    register(service, options) {
      notifications++
      return registry.register!(service, options)
    },
  }
  const registration = await register({ registry: counting, entry, log, intervalMs: 5 })
  for (let i = 0; i < 3; i++) {
    advanceTo(60_000)
    const before = notifications
    await waitUntil(() => notifications > before)
    t.equal(await listNodes(registry), 1)
  }
  await registration.end()
  const last = notifications
  t.equal(await listNodes(registry), 0, 'deregistered immediately')
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(notifications, last, 'no more heartbeats')
  await registration.end()
})

t.test('a rejected or late registration leaves nothing registered', async (t) => {
  const { registry } = open(t)
  const { log } = createQuietLog()
  const options = { entry, log, requestTimeoutMs: 500 }
  const failure = { message: 'cannot register greeter (memory): invalid service' }
  const late: (() => void)[] = []
  const slow: Registry = {
    ...registry,
    register: (service) =>
      late.length === 0
        ? new Promise((resolve) => late.push(() => resolve(registry.register!(service))))
        : Promise.reject(new TypeError('invalid service')),
    deregister: async (service) => {
      await registry.deregister!(service)
      await new Promise(() => {})
    },
  }
  // Keeps the process alive like the port of a service.
  keepAlive(t)
  const registration = await register({ ...options, registry: slow, requestTimeoutMs: 20 })
  await registration.end()
  late[0]!()
  t.equal(await listNodes(registry), 1)
  await waitUntil(() => (registry.getService('greeter') as readonly unknown[]).length === 0)

  let attempts = 0
  const rejecting: Registry = {
    ...registry,
    async register(service) {
      await registry.register!(service)
      throw ++attempts === 1 ? new Error('connection lost') : new TypeError('invalid service')
    },
  }
  await t.rejects(register({ ...options, registry: rejecting }), failure)
  t.equal(await listNodes(registry), 0, 'deregistered despite the error')
})

t.test('an unavailable registry is retried faster, and logged once a minute', async (t) => {
  const { registry } = open(t)
  const { log, lines } = createQuietLog()
  let isUnavailable = false
  let now = 0
  let attempts = 0
  const unreliable: Registry = {
    ...registry,
    async register(service, options) {
      attempts++
      if (isUnavailable) throw new Error('registry unavailable')
      await registry.register!(service, options)
    },
  }
  const registration = await register({
    registry: unreliable,
    entry,
    log,
    intervalMs: 5,
    retryMs: 1,
    nowMs: () => now,
  })
  isUnavailable = true
  const some = (count: number) => {
    const from = attempts
    return waitUntil(() => attempts > from + count)
  }
  await some(10)
  now += 59_999
  await some(3)
  t.equal(lines.length, 1, 'one line for many attempts')
  now += 1
  await some(3)
  t.equal(lines.length, 2, 'one line per minute')
  await registry.deregister!(entry)
  now += 5000
  isUnavailable = false
  await waitUntil(() => lines.length === 3)
  t.equal(await listNodes(registry), 1)
  const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  t.match(events, [
    { level: 40, msg: 'registration failed, retrying', reason: 'registry unavailable', seconds: 0 },
    { level: 40, msg: 'registration still failing, retrying', seconds: 60 },
    { level: 30, msg: 'registered again', registry: 'memory', seconds: 65 },
  ])
  t.notOk(
    lines.some((line) => line.includes('stack') || line.length > 300),
    'no stack is logged',
  )
  await registration.end()
  t.equal(await listNodes(registry), 0)
})

t.test('after 3 failed attempts the service starts and registers later', async (t) => {
  const { registry } = open(t)
  const { log, lines } = createQuietLog()
  let remainingFailures = 2
  let attempts = 0
  const failing: Registry = {
    ...registry,
    async register(service, options) {
      attempts++
      if (remainingFailures-- > 0) throw new Error('registry unavailable')
      await registry.register!(service, options)
    },
  }
  const first = await register({ registry: failing, entry, log })
  t.equal(attempts, 3)
  t.same(lines, [], 'success at the third attempt is not logged')
  await first.end()

  attempts = 0
  remainingFailures = 5
  const second = await register({ registry: failing, entry, log, retryMs: 1 })
  t.equal(attempts, 3)
  t.equal(await listNodes(registry), 0)
  await waitUntil(() => lines.length === 2)
  t.equal(await listNodes(registry), 1, 'registered as soon as the registry responds')
  t.match(lines, [/registration failed, retrying/, /"msg":"registered"/])
  await second.end()
})

t.test('a registry that does not respond is awaited once, then the service starts', async (t) => {
  const { registry } = open(t)
  const { log, lines } = createQuietLog()
  let queries = 0
  let now = 0
  const silent: Registry = {
    ...registry,
    register() {
      queries++
      now += 7000
      return new Promise(() => {})
    },
  }
  keepAlive(t)
  const registration = await register({
    ...{ registry: silent, entry, log, requestTimeoutMs: 200 },
    nowMs: () => now,
  })
  t.equal(queries, 1)
  t.equal(JSON.parse(lines[0]!).seconds, 7, 'seconds since the request')
  t.match(lines, [/"reason":"no response within 200 ms".*retrying/])
  await registration.end()
})

t.test('a denied registration is not retried', async (t) => {
  const { registry } = open(t)
  const { log } = createQuietLog()
  let attempts = 0
  const denying: Registry = {
    ...registry,
    register() {
      attempts++
      throw Object.assign(new Error('the token needs service:write'), { denied: true })
    },
  }
  await t.rejects(register({ registry: denying, entry, log }), {
    message: 'cannot register greeter (memory): the token needs service:write',
  })
  t.equal(attempts, 1)
})

t.test('a registry that needs no registration is not an error', async (t) => {
  const { log, lines } = createQuietLog()
  const local = withLocalServices(createStaticRegistry([]), () => false)
  let requests = 0
  const registry: Registry = {
    ...local,
    register(service, options) {
      requests++
      return local.register!(service, options)
    },
    deregister: () => void t.fail('nothing was registered'),
  }
  const registration = await register({ registry, entry, log, intervalMs: 1, retryMs: 1 })
  t.match(lines, [/"the registry needs no registration"/])
  await registration.drain()
  await registration.end()
  t.equal(requests, 1)
  t.equal(lines.length, 1)
})

t.test('a registry may turn out to need no registration after an outage', async (t) => {
  const { log, lines } = createQuietLog()
  let requests = 0
  const registry: Registry = {
    ...createMemoryRegistry(),
    register() {
      throw ++requests < 5 ? new Error('unavailable') : notImplemented('registry', 'none is needed')
    },
    deregister: () => void t.fail('nothing was registered'),
  }
  const registration = await register({ registry, entry, log, retryMs: 1, requestTimeoutMs: 1 })
  await waitUntil(() => lines.some((line) => line.includes('"the registry needs no registration"')))
  await registration.end()
  t.equal(requests, 5)
})

t.test('a malformed entry is not retried', async (t) => {
  const { registry } = open(t)
  const { log } = createQuietLog()
  const invalid = makeService('greeter', ['nowhere'])
  await t.rejects(
    register({ registry, entry: invalid, log }),
    /cannot register greeter \(memory\): address of node/,
  )
})

t.test('a heartbeat in flight does not restore a deregistered node', async (t) => {
  const { registry } = open(t)
  const { log } = createQuietLog()
  let release: () => void = () => {}
  let notifications = 0
  const slow: Registry = {
    ...registry,
    async register(service, options) {
      if (++notifications > 1)
        await new Promise<void>((resolve) => {
          release = resolve
        })
      await registry.register!(service, options)
    },
  }
  const registration = await register({ registry: slow, entry, log, intervalMs: 1 })
  await waitUntil(() => notifications === 2)
  const ended = registration.end()
  release()
  await ended
  t.equal(await listNodes(registry), 0)
})

t.test('a failed deregistration is logged and does not prevent the stop', async (t) => {
  const { registry } = open(t)
  const { log, lines } = createQuietLog()
  const registration = await register({
    registry: { ...registry, deregister: () => Promise.reject(new Error('no')) },
    entry,
    log,
  })
  await registration.end()
  t.match(lines, [/"level":40.*could not deregister/])
  const { register: _, ...readOnly } = registry
  await (await register({ registry: readOnly, entry, log })).end()
})

t.test('a deregistration from a stopping registry is logged as info', async (t) => {
  const { registry } = open(t)
  const { log, lines } = createQuietLog()
  const cause = unavailable('registry', 'the registry is stopping')
  const registration = await register({
    registry: { ...registry, deregister: () => Promise.reject(new Error('no', { cause })) },
    entry,
    log,
  })
  await registration.end()
  t.match(lines, [/"level":30.*could not deregister/])
})

t.test('a node is registered as draining until it is deregistered', async (t) => {
  const { registry } = open(t)
  const { log, lines } = createQuietLog()
  const events: string[] = []
  t.teardown(
    registry.watch!(({ type, service }) => {
      events.push(`${type} ${service.nodes.map(({ metadata }) => metadata['state'])}`)
    }),
  )
  const registration = await register({ registry, entry, log, intervalMs: 1 })
  await registration.drain()
  const [service] = await registry.getService('greeter')
  t.match(service, { nodes: [{ ...entry.nodes[0], metadata: { state: 'draining' } }] })
  await registration.drain()
  await registration.end()
  t.same(events, ['create ', 'update draining', 'delete '])
  await registration.drain()
  t.equal(await listNodes(registry), 0, 'the node is not registered again')
  t.same(lines, [])
})

t.test('a registry that does not respond delays the end by one timeout only', async (t) => {
  const { registry } = open(t)
  const { log, lines } = createQuietLog()
  const queries: string[] = []
  const hang = (name: string): Promise<void> => {
    queries.push(name)
    return new Promise(() => {})
  }
  let first = true
  const silent: Registry = {
    ...registry,
    register: (service) => {
      if (!first) return hang(`register ${service.nodes[0]!.metadata['state']}`)
      first = false
      return undefined
    },
    deregister: () => hang('deregister'),
  }
  const registration = await register({ registry: silent, entry, log, requestTimeoutMs: 200 })
  // The timers of the registration do not keep the process alive.
  keepAlive(t)
  await registration.drain()
  await registration.end()
  t.same(queries, ['register draining', 'deregister'])
  t.match(lines, [/could not mark as draining/, /could not deregister/])
  for (const line of lines) t.match(line, /no response within \d+ ms/, 'in whole milliseconds')
  t.match(lines[1], /no response within 1 ms/, 'one timeout for both requests')
})
