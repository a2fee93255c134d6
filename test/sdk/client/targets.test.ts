import t, { type Test } from 'tap'
import type { Upstream } from '../../../core/upstream/upstream.ts'
import type { LocalService } from '../../../sdk/client/call-options.ts'
import { ClientTargets, type TargetsOptions } from '../../../sdk/client/targets.ts'
import { addLocalService } from '../../../sdk/internal/local-services.ts'
import {
  findOpenRegistry,
  openRegistry as openRegistryText,
} from '../../../sdk/registry/open-registry.ts'
import { openRegistry, registerPorts } from '../../fixtures/sdk-services.ts'
import { makeService } from '../../fixtures/services.ts'

function open(t: Test, options: Partial<TargetsOptions> = {}): ClientTargets {
  const targets = new ClientTargets({
    registry: undefined,
    address: undefined,
    proxy: undefined,
    services: [],
    inProcess: true,
    ...options,
  })
  t.teardown(() => targets.close())
  return targets
}

const create = (name: string): LocalService => ({
  name,
  caller: { pending: 0, call() {}, drain() {}, close() {} },
})

t.test('a service of this process takes precedence over nodes of the registry', async (t) => {
  const registry = openRegistry(t)
  registerPorts(registry, 'greeter', [9001])
  const targets = open(t, { registry })
  const nodes = targets.find('greeter') as Upstream
  t.strictSame(
    nodes.nodes.map(({ port, protocol }) => [port, protocol]),
    [[9001, 'mx']],
  )
  const local = create('greeter')
  const remove = addLocalService(registry, local)
  t.equal(targets.find('greeter'), local)
  t.equal(open(t, { registry, inProcess: false }).find('other'), undefined)
  t.not(open(t, { registry, inProcess: false }).find('greeter'), local)
  remove()
  t.equal(targets.find('greeter'), nodes)
})

t.test('services passed as an option require no registry', async (t) => {
  const local = create('greeter')
  const targets = open(t, { services: [local], inProcess: false })
  t.equal(targets.find('greeter'), local)
  t.throws(() => targets.find('other'), /calling other requires a registry, a proxy or an address/)
})

t.test(
  'with a proxy, calls go to the proxy, except for services of the same process',
  async (t) => {
    const registry = openRegistry(t)
    registerPorts(registry, 'greeter', [9001])
    const proxy = 'mx://127.0.0.1:9009'
    const targets = open(t, { registry, proxy })
    const listPorts = (name: string, address?: string) =>
      (targets.find(name, address) as Upstream).nodes.map(({ port }) => port)
    t.strictSame(listPorts('greeter'), [9009])
    t.strictSame(listPorts('other'), [9009])
    t.strictSame(
      listPorts('other', '127.0.0.1:9002'),
      [9002],
      'an address of the call overrides the proxy',
    )
    const local = create('greeter')
    const remove = addLocalService(registry, local)
    t.equal(targets.find('greeter'), local)
    remove()
    t.strictSame(listPorts('greeter'), [9009])
  },
)

t.test(
  'with a proxy, a registry is not opened, but used if it is open in this process',
  async (t) => {
    const text = 'mx://127.0.0.1:9009'
    const targets = open(t, { registry: text, proxy: text })
    t.equal((targets.find('greeter') as Upstream).nodes.length, 1)
    t.equal(findOpenRegistry(text), undefined)
    const { registry, close } = openRegistryText(text)
    t.teardown(close)
    const local = create('greeter')
    t.teardown(addLocalService(registry, local))
    t.equal(targets.find('greeter'), local)
  },
)

t.test('an address takes precedence over registry and services', async (t) => {
  const registry = openRegistry(t)
  registerPorts(registry, 'greeter', [9001])
  const targets = open(t, { registry, services: [create('greeter')] })
  const getPort = (address: string) => {
    const [node] = (targets.find('greeter', address) as Upstream).nodes
    return `${node!.protocol} ${node!.secure} ${node!.host} ${node!.port}`
  }
  t.equal(getPort('127.0.0.1:9002'), 'mx false 127.0.0.1 9002')
  t.equal(getPort('mxs://service.test:443'), 'mx true service.test 443')
  t.equal(getPort('http://[::1]:80'), 'http false ::1 80')
  t.equal(getPort('https://service.test:443'), 'http true service.test 443')
  t.equal(targets.find('a', '127.0.0.1:9002'), targets.find('b', '127.0.0.1:9002'))
  const [node] = (open(t, { address: '127.0.0.1:9003' }).find('any') as Upstream).nodes
  t.equal(node!.port, 9003)
  for (const malformed of ['', '127.0.0.1', '127.0.0.1:0', 'ftp://a:1', 'a b:80'])
    t.throws(() => targets.find('greeter', malformed), /address must be host:port/, malformed)
})

t.test('connections of the last 100 addresses are cached', async (t) => {
  const targets = open(t)
  const first = targets.find('a', '127.0.0.1:1') as Upstream
  for (let port = 2; port <= 100; port++) targets.find('a', `127.0.0.1:${port}`)
  t.equal(targets.find('a', '127.0.0.1:1'), first)
  const second = targets.find('a', '127.0.0.1:2')
  targets.find('a', '127.0.0.1:101')
  t.equal(targets.find('a', '127.0.0.1:1'), first)
  targets.find('a', '127.0.0.1:102')
  t.equal(targets.find('a', '127.0.0.1:2'), second, 'recently used')
  t.not(targets.find('a', '127.0.0.1:3'), undefined)
  t.equal(first.nodes.length, 1)
})

t.test('a closed client rejects lookups and drops its nodes', async (t) => {
  const targets = open(t)
  const upstream = targets.find('a', '127.0.0.1:1') as Upstream
  targets.close()
  t.strictSame(upstream.nodes, [])
  t.throws(() => targets.find('a', '127.0.0.1:1'), /the client is closed/)
})

t.test('a service missing in another domain is looked up in mx', async (t) => {
  const [general, acme] = [
    openRegistryText('memory'),
    openRegistryText('memory', { domain: 'acme' }),
  ]
  for (const { close } of [general, acme]) t.teardown(close)
  await Promise.all([general.loaded, acme.loaded])
  for (const [{ registry }, name, port] of [
    [general, 'store', 9001],
    [general, 'shop', 9002],
    [acme, 'shop', 9003],
  ] as const)
    await registry.register!(makeService(name, [`127.0.0.1:${port}`]))
  const listPorts = async (targets: ClientTargets, name: string) =>
    ((await targets.find(name)) as Upstream | undefined)?.nodes.map(({ port }) => port)
  const targets = open(t, { registry: 'memory', domain: 'acme' })
  t.strictSame(await listPorts(targets, 'shop'), [9003])
  t.strictSame(await listPorts(targets, 'store'), [9001])
  t.strictSame(await listPorts(targets, 'none'), undefined)
  t.ok(await targets.isKnown('store', '127.0.0.1:9001'))
  t.strictSame(await listPorts(open(t, { registry: 'memory' }), 'shop'), [9002])
})

t.test('balance and policies of the registry apply to calls, without health checks', async (t) => {
  const registry = openRegistry(t)
  const policies = { retry: { attempts: 4 }, outlier: 'off', health: '/healthz' }
  const metadata = { 'mx/policies': JSON.stringify(policies), 'mx/balance': 'least-conn' }
  const nodes = [1, 2].map((id) => ({ id: `${id}`, address: `127.0.0.1:${id}`, metadata: {} }))
  void registry.register!({ ...makeService('cart', nodes), metadata })
  const cart = open(t, { registry }).find('cart') as Upstream
  t.equal(cart.retry.attempts, 4)
  const busy = cart.pick(undefined)!
  busy.active = 1
  const idle = cart.pick(undefined)!
  t.not(idle, busy)
  t.equal(cart.pick(undefined), idle, 'the node with the fewest calls in flight')
  for (let i = 0; i < 10; i++) cart.failed(idle, 'connect')
  t.equal(cart.usableNodes, 2, 'no node is ejected')

  const invalid = { 'mx/policies': '{', 'mx/balance': 'hash:ip' }
  void registry.register!({ ...makeService('cart', nodes), metadata: invalid })
  t.equal(cart.retry.attempts, 2, 'invalid values are ignored')
  for (let i = 0; i < 10; i++) cart.failed(idle, 'connect')
  t.equal(cart.usableNodes, 1)
})
