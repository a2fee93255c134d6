import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createMxRegistry, type MxRegistryOptions } from '../../../../adapters/registry/mx.ts'
import type {
  Service as Entry,
  Registry,
  RegistryEvent,
} from '../../../../core/contracts/registry.ts'
import { GatewayError } from '../../../../core/errors.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { testRegistry } from '../../../contracts/registry.ts'
import { eventually } from '../../../fixtures/eventually.ts'
import { type MxService, openMxService } from '../../../fixtures/mx-service.ts'
import { openPlatformRegistry } from '../../../fixtures/platform-registry.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { makeService, replaceServices } from '../../../fixtures/services.ts'

/** The registry service, on `port` if it is set. */
async function openRemote(t: Test, port = 0) {
  const { address, registry, close } = await openPlatformRegistry(t, {
    address: `127.0.0.1:${port}`,
  })
  return { port: Number(address.slice(address.lastIndexOf(':') + 1)), registry, stop: close }
}

/** All services except the registry itself. */
async function list(registry: Registry): Promise<Entry[]> {
  return (await registry.listServices()).filter(({ name }) => name !== 'registry')
}

/** Waits until any service is registered. */
async function waitForService(registry: Registry): Promise<void> {
  await eventually(async () => (await list(registry)).length > 0)
}

/** Replaces its services, except itself. */
async function fill(registry: Registry, services: readonly Entry[]): Promise<void> {
  await replaceServices(registry, [...services, ...(await registry.getService('registry'))])
}

const GREETER = makeService('greeter', ['127.0.0.1:9001'])
const USERS = makeService('users', ['127.0.0.1:9002'])

function open(t: Test, port: number, options: Partial<MxRegistryOptions> = {}): Required<Registry> {
  const registry = createMxRegistry({ host: '127.0.0.1', port, ...options })
  t.teardown(() => registry.close?.())
  return registry as Required<Registry>
}

/** Events of a watcher: `create greeter 1`, `out` for an outage and `back` for its end. */
function watch(registry: Registry, service?: string): string[] {
  const events: string[] = []
  registry.watch!(
    ({ type, service }) => {
      if (service.name !== 'registry')
        events.push(`${type} ${service.name} ${service.nodes.length}`)
    },
    {
      ...(service !== undefined && { service }),
      onOutage: (reason) => events.push(reason === undefined ? 'back' : 'out'),
    },
  )
  return events
}

/** Relays connections to a port, or to none if undefined. */
async function openRelay(t: Test) {
  const sockets = new Set<Socket>()
  let target: number | undefined
  const addSocket = (socket: Socket, peer: () => Socket | undefined): void => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      peer()?.destroy()
    })
  }
  const server = createServer((socket) => {
    const upstream = target === undefined ? undefined : connect(target, '127.0.0.1')
    addSocket(socket, () => upstream)
    if (upstream === undefined) socket.destroy()
    else {
      addSocket(upstream, () => socket)
      socket.pipe(upstream).pipe(socket)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const relayTo = (port: number | undefined): void => {
    target = port
    for (const socket of sockets) socket.destroy()
  }
  /** Stalls the open connections without closing them. */
  const stall = (): void => {
    for (const socket of sockets) socket.unpipe()
  }
  t.teardown(() => {
    server.close()
    relayTo(undefined)
  })
  return { port: (server.address() as AddressInfo).port, relayTo, fallSilent: stall }
}

testRegistry(t, async () => {
  // A separate domain, because the default one contains the registry service.
  const options = { domain: 'test' }
  const relay = await openRelay(t)
  const registry = open(t, relay.port, options)
  let remote = await openRemote(t)
  let writer = open(t, remote.port, options)
  relay.relayTo(remote.port)
  return {
    registry,
    async replaceServices(services) {
      // The watch is active at the service once a read has settled.
      await registry.listServices()
      await replaceServices(writer, services)
    },
    async restart(services) {
      relay.relayTo(undefined)
      await remote.stop()
      remote = await openRemote(t)
      writer = open(t, remote.port, options)
      await replaceServices(writer, services)
      relay.relayTo(remote.port)
    },
  }
})

t.test('registers again when the registry restarted empty', async (t) => {
  const first = await openRemote(t)
  const registry = open(t, first.port)
  await registry.register(GREETER, { ttlSeconds: 90 })
  await registry.register(USERS, { ttlSeconds: 90 })
  await registry.deregister(USERS)
  await first.stop()
  const second = await openRemote(t, first.port)
  await waitForService(second.registry)
  t.same(await list(second.registry), [GREETER], 'without the deregistered service')
})

t.test('does not renew a registration without heartbeats after its TTL', async (t) => {
  const first = await openRemote(t)
  let now = 0
  const registry = open(t, first.port, { nowMs: () => now })
  await registry.register(GREETER, { ttlSeconds: 90 })
  now = 60_000
  await registry.register(USERS, { ttlSeconds: 90 })
  await first.stop()
  now = 90_000
  const second = await openRemote(t, first.port)
  await waitForService(second.registry)
  t.same(await list(second.registry), [USERS])
})

t.test('reports an outage and the changes during it', async (t) => {
  const first = await openRemote(t)
  await fill(first.registry, [GREETER, USERS])
  const registry = open(t, first.port)
  const reported = watch(registry)
  const usersWatcher = watch(registry, 'users')
  t.equal((await list(registry)).length, 2)
  await first.stop()
  await waitUntil(() => reported.includes('out'))
  const lateWatcher = watch(registry)
  await waitUntil(() => lateWatcher.includes('out'))
  await t.rejects(Promise.resolve(registry.getService('greeter')), {
    message: /^the registry mx:\/\/127\.0\.0\.1:\d+ is unreachable: .*ECONNREFUSED/,
  })
  const second = await openRemote(t, first.port)
  await fill(second.registry, [
    makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9003']),
    makeService('billing', ['127.0.0.1:9004']),
  ])
  await waitUntil(() => reported.includes('back'))
  t.same(reported, ['out', 'create billing 1', 'update greeter 2', 'delete users 0', 'back'])
  t.same(usersWatcher, ['out', 'delete users 0', 'back'])
  t.same(lateWatcher, reported, 'watchers added during the outage are notified, too')
  await fill(second.registry, [GREETER])
  await waitUntil(() => reported.length === 7)
  t.same(reported.slice(5), ['update greeter 1', 'delete billing 0'], 'later changes are reported')
})

t.test('detects a silent registry within the timeout', async (t) => {
  const remote = await openRemote(t)
  await fill(remote.registry, [GREETER])
  const relay = await openRelay(t)
  relay.relayTo(remote.port)
  const registry = open(t, relay.port, { timeoutMs: 1000 })
  const reported = watch(registry)
  t.equal((await list(registry)).length, 1)
  relay.fallSilent()
  const silentMs = performance.now()
  await fill(remote.registry, [GREETER, USERS])
  await waitUntil(() => reported.includes('back'))
  t.same(reported, ['out', 'create users 1', 'back'])
  t.ok(performance.now() - silentMs > 500, 'not before the ping timeout')
})

t.test('emits everything when the registry starts after its watcher', async (t) => {
  const stopped = await openRemote(t)
  await stopped.stop()
  const registry = open(t, stopped.port)
  const reported = watch(registry)
  await waitUntil(() => reported.includes('out'))
  const remote = await openRemote(t, stopped.port)
  await fill(remote.registry, [GREETER])
  await waitUntil(() => reported.length === 3)
  t.same(reported, ['out', 'create greeter 1', 'back'])
})

t.test('reads lists of any length in pages', async (t) => {
  const { port, registry: remote } = await openRemote(t)
  const names = Array.from({ length: 450 }, (_, i) => `service-${String(i).padStart(3, '0')}`)
  await fill(
    remote,
    names.map((name) => makeService(name, ['127.0.0.1:9001'])),
  )
  const registry = open(t, port)
  const read = async () => (await list(registry)).map(({ name }) => name)
  t.same(await read(), names)
  watch(registry)
  t.same(await read(), names, 'even with a watch')
})

t.test('misses no event between a watch and a read', async (t) => {
  const { port, registry: remote } = await openRemote(t)
  const registry = open(t, port)
  for (let round = 0; round < 20; round++) {
    const service = makeService(`service-${round}`, ['127.0.0.1:9001'])
    const versions = new Set<string>()
    const stop = registry.watch(({ service }) => versions.add(service.name))
    const read = Promise.resolve(registry.listServices())
    await Promise.resolve(remote.register!(service))
    for (const { name } of await read) versions.add(name)
    await waitUntil(() => versions.has(service.name))
    stop()
    t.ok(versions.has(service.name), service.name)
  }
})

/** A misbehaving registry service with these endpoints. */
function openMisbehaving(t: Test, handlers: Record<string, unknown>): Promise<MxService> {
  const quiet = endpoint({
    stream: 'server',
    async *handle(_request: unknown, ctx) {
      ctx.start()
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      yield {}
    },
  })
  return openMxService(
    t,
    { Registry: { watch: quiet, ...handlers } as never },
    { name: 'registry' },
  )
}

const response = (reply: object) => endpoint({ handle: async () => reply })
const rejectWith = (code: number, detail: string) =>
  endpoint({
    handle: async () => {
      throw new GatewayError('registry', code, detail)
    },
  })

t.test('distinguishes a denial from an outage', async (t) => {
  const { port } = await openMisbehaving(t, {
    getService: rejectWith(403, 'an account is required'),
    register: rejectWith(400, 'request.metadata must have at most 64 pairs'),
    listServices: rejectWith(500, 'internal error'),
  })
  const registry = open(t, port)
  await t.rejects(Promise.resolve(registry.getService('greeter')), {
    message: /^the registry mx:\S+ denied the request \(403\): an account is required$/,
  })
  await t.rejects(Promise.resolve(registry.register(GREETER)), {
    name: 'TypeError',
    message:
      /^the registry mx:\S+ rejected the request: request\.metadata must have at most 64 pairs$/,
  })
  await t.rejects(Promise.resolve(registry.listServices()), { message: /is unreachable/ })
})

t.test('does not treat a 404 of another service as an unknown service', async (t) => {
  const { port } = await openMxService(t, {}, { name: 'billing' })
  const registry = open(t, port)
  await t.rejects(Promise.resolve(registry.getService('greeter')), {
    message: /denied the request \(404\)/,
  })
  const reasons: string[] = []
  registry.watch(() => {}, { onOutage: (reason) => reasons.push(String(reason?.message)) })
  await waitUntil(() => reasons.length > 0)
  t.match(reasons[0], /denied the request \(404\)/)
})

t.test('ignores unreadable entries and parts', async (t) => {
  const { port } = await openMisbehaving(t, {
    getService: response({
      services: [
        null,
        { name: 'greeter' },
        { name: 'greeter', version: 'next', nodes: [{ id: 'a' }, 7], endpoints: 'none' },
        { name: 'greeter', version: 'latest', metadata: { domain: 'mx', owner: 'x', count: 3 } },
      ],
    }),
    listServices: response({ services: {}, next: 5 }),
  })
  const registry = open(t, port)
  const empty = { name: 'greeter', metadata: {}, endpoints: [], nodes: [] }
  t.same(await registry.getService('greeter'), [
    { ...empty, version: 'next' },
    { ...empty, version: 'latest', metadata: { owner: 'x' } },
  ])
  t.same(await registry.listServices(), [])
})

t.test('rejects an endless list', async (t) => {
  const { port } = await openMisbehaving(t, { listServices: response({ services: [], next: 'a' }) })
  await t.rejects(Promise.resolve(open(t, port).listServices()), { message: /exceeds 10000 pages/ })
})

t.test('reports an outage when a watch does not open in time', async (t) => {
  const stuck = endpoint({
    stream: 'server',
    async *handle(_request: unknown, ctx) {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      yield {}
    },
  })
  const { port } = await openMisbehaving(t, {
    watch: stuck,
    listServices: response({ services: [] }),
  })
  const registry = open(t, port, { timeoutMs: 50 })
  const reported = watch(registry)
  await t.rejects(Promise.resolve(registry.listServices()), {
    message: /the watch did not open within 50 ms/,
  })
  t.same(reported, ['out'])
})

t.test('shares one watch between all watchers', async (t) => {
  const ended: string[] = []
  const counted = endpoint({
    stream: 'server',
    async *handle({ service = 'all' }: { service?: string }, ctx) {
      ctx.start()
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      ended.push(service)
      yield {}
    },
  })
  const handlers = {
    watch: counted,
    listServices: response({ services: [] }),
    register: response({}),
  }
  const { port, calls, connections } = await openMisbehaving(t, {
    ...handlers,
    deregister: response({}),
  })
  const watches = () =>
    calls
      .filter(({ endpoint }) => endpoint === 'Registry.Watch')
      .map(({ body }) => JSON.parse(body))
  const registry = open(t, port)
  const stops = Array.from({ length: 5000 }, (_, i) =>
    registry.watch(() => {}, { service: `s-${i}` }),
  )
  stops.push(registry.watch(() => {}))
  await registry.listServices()
  t.same(watches(), [{ options: { domain: 'mx' } }])
  t.equal(connections.length, 1)
  for (const stop of stops) stop()
  await waitUntil(() => ended.length === 1)
  await registry.register(GREETER, { ttlSeconds: 90 })
  t.same(
    watches().at(-1),
    { service: 'greeter', options: { domain: 'mx' } },
    'a registry that only registers watches one service',
  )
  await registry.deregister(GREETER)
  await waitUntil(() => ended.length === 2)
  t.same(ended, ['all', 'greeter'])
})

t.test('rejects calls and emits nothing after close', async (t) => {
  const { port, registry: remote } = await openRemote(t)
  const registry = open(t, port)
  const events: RegistryEvent[] = []
  registry.watch((event) => events.push(event))
  await registry.listServices()
  await registry.close()
  await remote.register!(GREETER)
  await t.rejects(Promise.resolve(registry.getService('greeter')), { message: /is closed$/ })
  t.same(events, [])
})

t.test('reads and registers in one domain', (t) => {
  t.throws(() => createMxRegistry({ host: 'a', port: 1, domain: '*' }), {
    name: 'TypeError',
    message: 'domain must be one domain, got "*"',
  })
  t.end()
})
