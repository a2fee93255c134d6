import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { createStaticRegistry } from '../../../adapters/registry/static.ts'
import type {
  Registry,
  RegistryEvent,
  Service,
  WatchOptions,
} from '../../../core/contracts/registry.ts'
import {
  type Catalog,
  type CatalogOptions,
  createCatalog,
} from '../../../resolvers/endpoint/catalog.ts'
import { makeServiceWithEndpoints } from '../../fixtures/endpoints.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { makeNode } from '../../fixtures/services.ts'

interface Opened {
  readonly catalog: Catalog
  readonly warnings: string[]
  readonly changes: () => number
}

function open(t: Test, registry: Registry, options: Partial<CatalogOptions> = {}): Opened {
  const warnings: string[] = []
  let changes = 0
  const catalog = createCatalog({
    registry,
    ...options,
    onChange: () => changes++,
    onWarning: (message) => warnings.push(message),
  })
  t.teardown(catalog.close)
  return { catalog, warnings, changes: () => changes }
}

function list(catalog: Catalog): string[] {
  return catalog
    .listRoutes()
    .map(
      ({ service, endpoint, template }) => `${service} ${endpoint} /${template.segments.join('/')}`,
    )
}

const users = makeServiceWithEndpoints('ns.users', { 'Users.Get': { path: '/users/{id}' } })
const books = makeServiceWithEndpoints('ns.books', {
  'Books.Get': { path: '/books' },
  'Books.Add': {},
})

/** A registry that responds on demand. */
function createSlow(watched = true): {
  registry: Registry
  respond: (services: readonly Service[]) => Promise<void>
  fail: () => Promise<void>
  emit: (event: RegistryEvent) => void
  outage: (reason: Error | undefined) => void
  requests: () => number
} {
  const pending: { resolve: (services: readonly Service[]) => void; reject: (e: Error) => void }[] =
    []
  let requests = 0
  let listener: (event: RegistryEvent) => void = () => {}
  let onOutage: WatchOptions['onOutage']
  const respondNext = async (act: (request: (typeof pending)[number]) => void): Promise<void> => {
    await waitUntil(() => pending.length > 0)
    act(pending.shift()!)
    await new Promise(setImmediate)
  }
  return {
    registry: {
      name: 'slow',
      getService: () => [],
      listServices: () => {
        requests++
        return new Promise((resolve, reject) => pending.push({ resolve, reject }))
      },
      ...(watched && {
        watch: (received: typeof listener, options: WatchOptions = {}) => {
          listener = received
          onOutage = options.onOutage
          return () => {
            listener = () => {}
          }
        },
      }),
    },
    respond: (services) => respondNext(({ resolve }) => resolve(services)),
    fail: () => respondNext(({ reject }) => reject(new Error('out of order'))),
    emit: (event) => listener(event),
    outage: (reason) => onOutage?.(reason),
    requests: () => requests,
  }
}

/** Waits for `count` catalog intervals. */
function tick(times: number): Promise<void> {
  return new Promise((resolve) => {
    let remaining = times
    const timer = setInterval(() => {
      if (--remaining > 0) return
      clearInterval(timer)
      resolve()
    }, 1)
  })
}

t.test('finds registered services immediately', async (t) => {
  const { catalog, changes } = open(t, createStaticRegistry([users, books]))
  t.equal(catalog.ready, undefined)
  t.same(list(catalog), ['ns.books Books.Get /books', 'ns.users Users.Get /users/*'])
  t.equal(changes(), 1)
})

t.test('follows added, changed and removed services', async (t) => {
  const registry = createStaticRegistry([users])
  const { catalog, changes } = open(t, registry)
  registry.replace([users, books])
  t.same(list(catalog), ['ns.books Books.Get /books', 'ns.users Users.Get /users/*'])
  registry.replace([makeServiceWithEndpoints('ns.users', { 'Users.Get': { path: '/people' } })])
  t.same(list(catalog), ['ns.users Users.Get /people'])
  registry.replace([])
  t.same(list(catalog), [])
  t.equal(changes(), 5)
})

t.test('ignores changes of nodes', async (t) => {
  const registry = createMemoryRegistry()
  t.teardown(() => registry.close?.())
  await registry.register?.({ ...users, nodes: [makeNode('127.0.0.1:1')] })
  const { catalog, changes } = open(t, registry)
  await registry.register?.({ ...users, nodes: [makeNode('127.0.0.1:2')] })
  await registry.register?.({
    ...makeServiceWithEndpoints('ns.plain', {}),
    nodes: [makeNode('127.0.0.1:3')],
  })
  await registry.deregister?.({ ...users, nodes: [makeNode('127.0.0.1:1')] })
  t.equal(changes(), 1)
  await registry.deregister?.({ ...users, nodes: [makeNode('127.0.0.1:2')] })
  t.equal(changes(), 2, 'a service is removed with its last node')
  t.same(list(catalog), [])
})

t.test('lists routes of all versions of a service', async (t) => {
  const next = makeServiceWithEndpoints('ns.users', { 'Users.Get': { path: '/v2/users' } }, 'next')
  const registry = createStaticRegistry([next, users])
  const { catalog } = open(t, registry)
  t.same(list(catalog), ['ns.users Users.Get /users/*', 'ns.users Users.Get /v2/users'])
  registry.replace([next])
  t.same(list(catalog), ['ns.users Users.Get /v2/users'])
})

t.test('applies watch events received before the first list', async (t) => {
  const { registry, respond, emit } = createSlow()
  const { catalog, changes } = open(t, registry)
  emit({ type: 'create', service: books })
  emit({ type: 'delete', service: users })
  t.same(list(catalog), [], 'not before the list')
  await respond([users])
  await catalog.ready
  t.same(list(catalog), ['ns.books Books.Get /books'])
  t.ok(changes() > 0)
})

t.test('warns once about a failing registry and retries until it responds', async (t) => {
  const { registry, respond, fail, emit, requests } = createSlow()
  const { catalog, warnings } = open(t, registry)
  await fail()
  await catalog.ready
  catalog.sweep()
  await fail()
  t.same(warnings, ['cannot list services, keeping the declared routes: out of order'])
  emit({ type: 'create', service: books })
  catalog.sweep()
  await respond([users])
  t.same(list(catalog), ['ns.users Users.Get /users/*'])
  catalog.sweep()
  t.equal(requests(), 3, 'from then on, the registry is watched')
  emit({ type: 'create', service: books })
  t.equal(list(catalog).length, 2)
})

t.test('treats an exception and a timeout of the registry as failures', async (t) => {
  const throwing: Registry = {
    name: 'throwing',
    getService: () => [],
    listServices: () => {
      throw new Error('out of order')
    },
  }
  // Its timers do not keep the process alive.
  keepAlive(t)
  t.match(open(t, throwing).warnings, [/cannot list services.*out of order/])
  const { catalog, warnings } = open(t, createSlow().registry, { timeoutMs: 1 })
  await catalog.ready
  t.match(warnings, [/cannot list services.*no response within 1 ms/])
})

t.test('lists services periodically without a watch', async (t) => {
  const { registry, respond, fail, requests } = createSlow(false)
  let now = 0
  const { catalog, changes, warnings } = open(t, registry, { listMs: 1, nowMs: () => now })
  await respond([users])
  await respond([users, makeServiceWithEndpoints('ns.plain', {})])
  const before = changes()
  await respond([
    { ...users, nodes: [makeNode('127.0.0.1:1')] },
    makeServiceWithEndpoints('ns.plain', {}),
  ])
  t.equal(changes(), before, 'an unchanged list is not a change')
  await respond([books])
  t.same(list(catalog), ['ns.books Books.Get /books'])
  await fail()
  t.same(list(catalog), ['ns.books Books.Get /books'], 'known routes are retained')
  await respond([])
  t.same(list(catalog), ['ns.books Books.Get /books'], 'retained after an incomplete recovery')
  now = 95_000
  await respond([])
  await fail()
  t.equal(warnings.length, 2, 'one warning per outage')
  const { length } = list(catalog)
  t.equal(length, 0)
  catalog.close()
  const last = requests()
  await tick(10)
  t.equal(requests(), last, 'no query after close')
})

t.test('retains routes during a registry outage and after an incomplete recovery', async (t) => {
  let now = 0
  const { registry, respond, emit, outage } = createSlow()
  const { catalog, changes, warnings } = open(t, registry, { nowMs: () => now })
  await respond([users, books])
  const both = list(catalog)
  emit({ type: 'delete', service: books })
  t.equal(list(catalog).length, 1, 'without an outage, removed services are removed')
  emit({ type: 'create', service: books })

  outage(new Error('connection refused'))
  now = 1e6
  t.same(list(catalog), both)
  emit({ type: 'delete', service: books })
  emit({ type: 'delete', service: users })
  outage(undefined)
  t.same(list(catalog), both)
  const before = changes()
  emit({ type: 'create', service: { ...users, nodes: [] } })
  emit({
    type: 'update',
    service: makeServiceWithEndpoints('ns.more', { 'More.Get': { path: '/more' } }),
  })
  t.equal(list(catalog).length, 3, 'new services are added immediately')
  t.equal(changes(), before + 1)

  now += 94_999
  catalog.sweep()
  t.equal(list(catalog).length, 3)
  now += 1
  catalog.sweep()
  t.same(list(catalog), ['ns.more More.Get /more', 'ns.users Users.Get /users/*'])
  t.equal(changes(), before + 2)
  catalog.sweep()
  t.equal(changes(), before + 2)
  emit({ type: 'delete', service: users })
  t.same(list(catalog), ['ns.more More.Get /more'], 'events after the outage are applied')
  t.same(warnings, [])
})

t.test('warns about ignored declarations, at most ten times per service', async (t) => {
  const bad = Array.from({ length: 15 }, (_, i) => [`Bad.E${i}`, { path: 'nowhere' }] as const)
  const registry = createStaticRegistry([
    makeServiceWithEndpoints('ns.bad', Object.fromEntries(bad)),
    users,
  ])
  const { catalog, warnings } = open(t, registry)
  t.equal(warnings.length, 11)
  t.match(warnings[0], /endpoint "Bad.E0" of service ns.bad: ignored path "nowhere"/)
  t.equal(warnings[10], 'service ns.bad: 5 more endpoint problems')
  t.same(list(catalog), ['ns.users Users.Get /users/*'])
  registry.replace([makeServiceWithEndpoints('ns.bad', Object.fromEntries(bad))])
  t.equal(warnings.length, 11, 'not repeated while unchanged')
})

t.test('warns about an unknown handler of a service without endpoints', (t) => {
  const plain = (handler: string): Service => ({
    ...makeServiceWithEndpoints('ns.shop', {}),
    metadata: { handler },
  })
  const registry = createStaticRegistry([plain('poxy')])
  const { warnings } = open(t, registry)
  for (const handler of ['poxy', 'prxy', 'proxy']) registry.replace([plain(handler)])
  t.match(warnings, [/unknown handler "poxy"/, /unknown handler "prxy"/])
  t.equal(warnings.length, 2)
  t.end()
})

t.test('ignores events after close', async (t) => {
  const { registry, respond, emit } = createSlow()
  const { catalog, changes } = open(t, registry)
  catalog.close()
  emit({ type: 'create', service: books })
  await respond([users])
  t.equal(changes(), 0)
})
