import { once } from 'node:events'
import t, { type Test } from 'tap'
import {
  createKubernetesRegistry,
  type KubernetesRegistryOptions,
} from '../../../../adapters/registry/kubernetes.ts'
import type { Registry, RegistryEvent, Service } from '../../../../core/contracts/registry.ts'
import { ServiceCache } from '../../../../core/registry/service-cache.ts'
import type { Upstream } from '../../../../core/upstream/upstream.ts'
import { testRegistry } from '../../../contracts/registry.ts'
import {
  answerStatus,
  type KubernetesApi,
  openKubernetesApi,
} from '../../../fixtures/kubernetes-api.ts'
import {
  makeEndpoint,
  makeKubernetesService,
  makeSlice,
  replaceServices,
} from '../../../fixtures/kubernetes-objects.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

async function open(
  t: Test,
  options: KubernetesRegistryOptions = {},
): Promise<{ api: KubernetesApi; registry: Registry }> {
  const api = await openKubernetesApi(t)
  api.enterCluster()
  const registry = createKubernetesRegistry({ accountFolder: api.accountFolder, ...options })
  t.teardown(() => registry.close?.())
  return { api, registry }
}

/** Registered in an order in which watchers see each service once. */
function writeGreeter(api: KubernetesApi): void {
  api.write('endpointslices', makeSlice('greeter-a', 'greeter', ['10.0.0.1']))
  api.write('services', makeKubernetesService('greeter'))
}

const GREETER: Service = {
  name: 'greeter',
  version: 'latest',
  metadata: { handler: 'proxy' },
  endpoints: [],
  nodes: [{ id: '10.0.0.1:8080', address: '10.0.0.1:8080', metadata: {} }],
}

testRegistry(t, async () => {
  const { api, registry } = await open(t)
  await registry.listServices()
  await waitUntil(() => api.watchers.size === 2)
  return {
    registry,
    replaceServices: (services) => replaceServices(api, registry, services),
    async restart(services) {
      const rejected = new Set<string>()
      api.intercept = (url, request) => {
        rejected.add(url.pathname)
        request.socket.destroy()
        return true
      }
      api.disconnect()
      await waitUntil(() => rejected.size === 2)
      const listed = replaceServices(api, registry, services)
      api.compact()
      api.intercept = () => false
      await listed
    },
  }
})

t.test('starts with the first query, which waits for both lists', async (t) => {
  const { api, registry } = await open(t)
  writeGreeter(api)
  t.same(api.requests, [])
  const answer = registry.getService('greeter')
  t.ok(answer instanceof Promise)
  t.same(await answer, [GREETER])
  t.same(registry.getService('greeter'), [GREETER], 'later queries are synchronous')
  t.same(api.requests.filter((url) => !url.includes('watch')).sort(), [
    '/api/v1/namespaces/shop/services?limit=100',
    '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?limit=100',
  ])
})

t.test('lists a plain Service with the ready endpoints of all its slices', async (t) => {
  const { api, registry } = await open(t)
  writeGreeter(api)
  api.write('endpointslices', makeSlice('greeter-b', 'greeter', ['10.0.0.2', '10.0.0.3']))
  const [service] = await registry.getService('greeter')
  t.same(
    service!.nodes.map(({ address }) => address),
    ['10.0.0.1:8080', '10.0.0.2:8080', '10.0.0.3:8080'],
  )
})

t.test('merges two Services with one mx/name as versions', async (t) => {
  const { api, registry } = await open(t)
  for (const version of ['v1', 'v2']) {
    const name = `orders-${version}`
    api.write('endpointslices', makeSlice(name, name, [`10.0.0.${version.slice(1)}`]))
    api.write(
      'services',
      makeKubernetesService(name, { 'mx/name': 'go.mx.api.orders', 'mx/version': version }),
    )
  }
  const versions = await registry.getService('go.mx.api.orders')
  t.same(
    versions.map(({ version, nodes }) => [version, nodes[0]!.address]),
    [
      ['v1', '10.0.0.1:8080'],
      ['v2', '10.0.0.2:8080'],
    ],
  )
})

t.test('names the required permissions when the cluster denies access', async (t) => {
  const { api, registry } = await open(t)
  api.intercept = (url, _, response) => {
    if (!url.pathname.endsWith('endpointslices')) return false
    answerStatus(response, 403, 'endpointslices.discovery.k8s.io is forbidden: User "mx"')
    return true
  }
  const reasons: (Error | undefined)[] = []
  const events: RegistryEvent[] = []
  t.teardown(
    registry.watch!((event) => events.push(event), {
      onOutage: (reason) => reasons.push(reason),
    }),
  )
  const message =
    /^cannot watch Kubernetes endpointslices: access denied; grant the verbs get, list and watch on endpointslices in the API group discovery\.k8s\.io with a Role and a RoleBinding \(403 endpointslices/
  await t.rejects(Promise.resolve(registry.getService('greeter')), { message })
  t.throws(() => registry.listServices(), { message }, 'later queries fail immediately')
  t.match(reasons, [{ message }])
  writeGreeter(api)
  api.intercept = () => false
  await waitUntil(() => reasons.length === 2)
  t.equal(reasons[1], undefined, 'the outage ends when access is granted')
  t.same(registry.getService('greeter'), [GREETER])
  t.same(events, [{ type: 'create', service: GREETER }], 'existing services are reported')
})

t.test('returns the last known state during an outage', async (t) => {
  const { api, registry } = await open(t)
  writeGreeter(api)
  await registry.getService('greeter')
  await waitUntil(() => api.watchers.size === 2)
  const reasons: (Error | undefined)[] = []
  const events: RegistryEvent[] = []
  t.teardown(
    registry.watch!((event) => events.push(event), { onOutage: (reason) => reasons.push(reason) }),
  )
  api.intercept = (_, request) => {
    request.socket.destroy()
    return true
  }
  api.disconnect()
  await waitUntil(() => reasons.length === 1)
  t.match(reasons[0]?.message, /^cannot watch Kubernetes (services|endpointslices): /)
  t.same(registry.getService('greeter'), [GREETER])
  api.write('services', makeKubernetesService('greeter', { 'mx/weight': '2' }))
  api.intercept = () => false
  await waitUntil(() => reasons.length === 2 && events.length === 1)
  t.equal(reasons[1], undefined)
  t.match(events, [{ type: 'update', service: { nodes: [{ metadata: { weight: '2' } }] } }])
})

t.test('reports an outage to new watchers', async (t) => {
  const { api, registry } = await open(t)
  api.intercept = (_, request) => {
    request.socket.destroy()
    return true
  }
  await t.rejects(Promise.resolve(registry.listServices()))
  const reason = await new Promise<Error | undefined>((resolve) => {
    t.teardown(registry.watch!(() => {}, { onOutage: resolve }))
  })
  t.match(reason?.message, /^cannot watch Kubernetes/)
})

t.test('ignores an invalid Service and reports it once', async (t) => {
  const problems: string[] = []
  const { api, registry } = await open(t, { onProblem: (problem) => problems.push(problem) })
  writeGreeter(api)
  api.write('endpointslices', makeSlice('bad-a', 'bad', ['10.0.0.9']))
  api.write('services', makeKubernetesService('bad', { 'mx/weight': 'heavy' }))
  t.same(await registry.listServices(), [GREETER])
  await waitUntil(() => api.watchers.size === 2)
  api.write('endpointslices', makeSlice('bad-a', 'bad', ['10.0.0.8']))
  api.write('endpointslices', makeSlice('greeter-a', 'greeter', ['10.0.0.7']))
  await waitUntil(() => /10\.0\.0\.7/.test(JSON.stringify(registry.listServices())))
  t.same(problems, [
    'Kubernetes service bad is ignored: mx/weight must be a whole number from 1 to 1000, got "heavy"',
  ])
})

t.test('warns once about an HTTP/2-only port, which gets HTTP/1.1', async (t) => {
  const problems: string[] = []
  const { api, registry } = await open(t, { onProblem: (problem) => problems.push(problem) })
  const ports = [{ name: 'web', port: 80, appProtocol: 'kubernetes.io/h2c' }]
  const slice = { ports: [{ name: 'web', port: 8080, protocol: 'TCP' }] }
  for (const [name, annotations] of [
    ['shop', {}],
    ['calls', { 'mx/protocol': 'grpc' }],
  ] as const) {
    api.write('services', makeKubernetesService(name, annotations, { ports }))
    api.write('endpointslices', makeSlice(`${name}-a`, name, ['10.0.0.1'], slice))
  }
  t.equal((await registry.listServices()).length, 2)
  await waitUntil(() => api.watchers.size === 2)
  api.write('endpointslices', makeSlice('shop-a', 'shop', ['10.0.0.2'], slice))
  await waitUntil(() => /10\.0\.0\.2/.test(JSON.stringify(registry.listServices())))
  t.match(problems, [
    /^Kubernetes service shop: its port has the appProtocol kubernetes\.io\/h2c, but HTTP\/2 to backends is not supported/,
  ])
  t.equal(problems.length, 1)
})

t.test('reports where it searched for a cluster', async (t) => {
  delete process.env['KUBERNETES_SERVICE_HOST']
  process.env['KUBECONFIG'] = ''
  process.env['HOME'] = t.testdir({})
  const registry = createKubernetesRegistry()
  t.teardown(() => registry.close?.())
  await t.rejects(Promise.resolve(registry.listServices()), /no Kubernetes cluster found/)
})

t.test('rejects an invalid namespace immediately', async (t) => {
  for (const namespace of ['', 'Shop', 'a/b', '-a', 'a'.repeat(64)])
    t.throws(() => createKubernetesRegistry({ namespace }), {
      name: 'TypeError',
      message: /^namespace must be/,
    })
})

t.test('ends watches and rejects pending queries on close', async (t) => {
  const { api, registry } = await open(t)
  await registry.listServices()
  await waitUntil(() => api.watchers.size === 2)
  const ended = [...api.watchers].map(({ response }) => once(response, 'close'))
  await registry.close?.()
  await Promise.all(ended)
  t.throws(() => registry.listServices(), /is closed/)

  const second = await open(t)
  second.api.intercept = () => true
  const pending = t.rejects(Promise.resolve(second.registry.listServices()), /is closed/)
  await second.registry.close?.()
  await pending
})

t.test('supports no registrations', async (t) => {
  const { registry } = await open(t)
  t.equal(registry.register, undefined)
  t.equal(registry.deregister, undefined)
})

t.test('lists a Service with unready endpoints without nodes', async (t) => {
  const { api, registry } = await open(t)
  writeGreeter(api)
  const directory = new ServiceCache(registry, {
    upstream: () => ({ createPool: () => t.fail('no call expected') as never }),
  })
  t.teardown(() => directory.close())
  t.equal((await directory.find('greeter'))?.nodes.length, 1)
  // Synchronous from the first response.
  const countNodes = () => (directory.find('greeter') as Upstream | undefined)?.nodes.length
  await waitUntil(() => api.watchers.size === 2)
  const unready = makeEndpoint('10.0.0.1', { conditions: { ready: false } })
  for (const endpoints of [[unready], []]) {
    api.write('endpointslices', makeSlice('greeter-a', 'greeter', endpoints))
    await waitUntil(() => countNodes() === 0)
    t.same(
      await registry.getService('greeter'),
      [{ ...GREETER, nodes: [] }],
      'the service exists, so it returns 503, not 404',
    )
    t.same(await registry.listServices(), [{ ...GREETER, nodes: [] }])
    api.write('endpointslices', makeSlice('greeter-a', 'greeter', ['10.0.0.1']))
    await waitUntil(() => countNodes() === 1)
  }
  api.remove('endpointslices', 'greeter-a')
  await waitUntil(() => countNodes() === 0)
  api.remove('services', 'greeter')
  await waitUntil(() => {
    directory.sweep()
    return countNodes() === undefined
  })
})
