import t, { type Test } from 'tap'
import { createKubernetesRuntime } from '../../../adapters/runtime/kubernetes.ts'
import type { Store } from '../../../domain/store/store.ts'
import type { RuntimeServiceOptions } from '../../../services/runtime/service.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { type KubernetesApi, openKubernetesApi } from '../../fixtures/kubernetes-api.ts'
import { type Kubelet, type PodInstance, startKubelet } from '../../fixtures/kubernetes-kubelet.ts'
import {
  makeRuntimeState,
  openPlatformRuntime,
  type PlatformRuntime,
  type RuntimeState,
} from '../../fixtures/platform-runtime.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.setTimeout(60_000)

interface Cluster {
  readonly api: KubernetesApi
  readonly kubelet: Kubelet
  /** Started instances. */
  readonly copies: PodInstance[]
  readonly previous: RuntimeState
}

/** A cluster with the images `shop:1` and `shop:2`, which serve, and `broken`. */
async function openCluster(t: Test): Promise<Cluster> {
  const api = await openKubernetesApi(t)
  api.enterCluster()
  const copies: PodInstance[] = []
  const serve = (copy: PodInstance): void => {
    copies.push(copy)
    copy.write(`up as ${copy.env['MX_AUTH_ID']}`)
    setImmediate(copy.listen)
  }
  const broken = ({ write, exit }: PodInstance): void => {
    write('no such table')
    setImmediate(() => exit(2))
  }
  const kubelet = startKubelet(api, { images: { 'shop:1': serve, 'shop:2': serve, broken } })
  return { api, kubelet, copies, previous: makeRuntimeState(t) }
}

/** The `runtime` service of a server in the cluster. */
function openServer(
  t: Test,
  { api, previous }: Cluster,
  options: Partial<RuntimeServiceOptions> = {},
): Promise<PlatformRuntime> {
  const runtime = createKubernetesRuntime({ accountFolder: api.accountFolder })
  const folder = makeTempFolder(t, 'runtime')
  return openPlatformRuntime(t, { runtime, leaseMs: 1000, ...options }, { ...previous, folder })
}

/** A store that can be disconnected from its server, which then behaves like a killed server. */
function makeBreakable(store: Store): { readonly store: Store; cut: () => void } {
  let isDisconnected = false
  const use = <A extends unknown[], R>(method: (...args: A) => R | Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (isDisconnected) throw new Error('cut')
      return method(...args)
    }
  }
  const { read, commit } = store
  return {
    store: { ...store, read: use(read), commit: use(commit) },
    cut: () => (isDisconnected = true),
  }
}

const run = (server: PlatformRuntime, method: string, options: object): Promise<unknown> =>
  server.call(method, 'shop', { options })

t.test('runs, updates, recovers and stops an image', async (t) => {
  const cluster = await openCluster(t)
  const { api, copies } = cluster
  const server = await openServer(t, cluster)
  await run(server, 'Create', { image: 'shop:1', env: ['GREETING=hello'] })
  const settled = await server.settled('shop')
  t.match(settled.metadata, { status: 'running', error: undefined })
  t.match(copies[0]!.env, { GREETING: 'hello', MX_SERVICE_NAME: 'shop', MX_PROXY: '127.0.0.1:1' })
  const secret = copies[0]!.env['MX_AUTH_SECRET']!
  t.ok(secret)
  t.notMatch(JSON.stringify(api.list('deployments')), secret)
  t.match(await server.logs('shop'), [`up as ${copies[0]!.env['MX_AUTH_ID']}`])

  await run(server, 'Update', { image: 'shop:2' })
  t.match((await server.settled('shop')).metadata, { status: 'running', error: undefined })
  t.equal(copies.length, 2)

  await server.close()
  const next = await openServer(t, cluster)
  t.match((await next.settled('shop')).metadata, { status: 'running' })
  t.equal(copies.length, 2, 'no instance was restarted')

  await run(next, 'Delete', {})
  for (const collection of ['deployments', 'pods', 'services', 'secrets'] as const)
    t.same(api.list(collection), [], collection)
})

t.test('keeps the old revision serving when an update fails and reports the reason', async (t) => {
  const cluster = await openCluster(t)
  const server = await openServer(t, cluster)
  await run(server, 'Create', { image: 'shop:1' })
  await server.settled('shop')
  const [pod] = cluster.api.list('pods')
  await run(server, 'Update', { image: 'broken' })
  const { metadata } = await server.settled('shop')
  t.match(metadata, { status: 'running', error: /exit code 2: no such table/ })
  t.ok(cluster.api.list('pods').some((candidate) => candidate.metadata.name === pod!.metadata.name))
  await run(server, 'Update', { image: 'shop:2' })
  t.match((await server.settled('shop')).metadata, { status: 'running', error: undefined })
})

t.test("reports the cluster's reason for a missing image", async (t) => {
  const server = await openServer(t, await openCluster(t))
  await run(server, 'Create', { image: 'missing/image:1' })
  t.match((await server.settled('shop')).metadata, {
    status: 'error',
    error: /ErrImagePull: failed to pull image "missing\/image:1": not found/,
  })
})

t.test('continues the work of a killed server under a new id', async (t) => {
  const cluster = await openCluster(t)
  const { api, copies, previous } = cluster
  const { store, cut } = makeBreakable(previous.store)
  const killed = await openServer(
    t,
    { ...cluster, previous: { ...previous, store } },
    { server: 'one' },
  )
  await run(killed, 'Create', { image: 'shop:1' })
  await killed.settled('shop')
  cut()

  const nowMs = (): number => Date.now() + 120_000
  const next = await openServer(t, cluster, { server: 'two', nowMs })
  t.match(await next.read(), [{ metadata: { status: 'running', error: undefined } }])
  t.match(await next.logs('shop'), [`up as ${copies[0]!.env['MX_AUTH_ID']}`])
  await run(next, 'Update', { image: 'shop:2' })
  t.match((await next.settled('shop')).metadata, { status: 'running', image: 'shop:2' })
  t.equal(copies.length, 2)
  await run(next, 'Delete', {})
  for (const collection of ['deployments', 'pods', 'services', 'secrets'] as const)
    t.same(api.list(collection), [], collection)
})

t.test('applies changes on only one of two servers', async (t) => {
  const cluster = await openCluster(t)
  const { api, copies } = cluster
  const [first, second] = [
    await openServer(t, cluster, { server: 'one' }),
    await openServer(t, cluster, { server: 'two' }),
  ]
  await run(second, 'Create', { image: 'shop:1' })
  for (const server of [first, second]) {
    t.match((await server.settled('shop')).metadata, { status: 'running' })
    t.match(await server.logs('shop'), [`up as ${copies[0]!.env['MX_AUTH_ID']}`])
  }
  await run(second, 'Update', { image: 'shop:2' })
  t.match((await first.settled('shop')).metadata, { status: 'running', image: 'shop:2' })
  const countApplied = (): number =>
    api.requests.filter((url) => /deployments\/.*fieldManager/.test(url)).length
  t.equal(countApplied(), 2)

  await first.close()
  await waitUntil(() => countApplied() === 3)
  t.equal(copies.length, 2, 'the other server takes over without restarts')
  await run(second, 'Delete', {})
  t.same(api.list('deployments'), [])
})

t.test('restores objects that others deleted', async (t) => {
  const cluster = await openCluster(t)
  const { api, copies } = cluster
  const server = await openServer(t, cluster)
  await run(server, 'Create', { image: 'shop:1' })
  await server.settled('shop')
  const getUid = (): unknown => api.list('deployments')[0]?.metadata['uid']
  const before = getUid()
  api.remove('deployments', ...api.list('deployments'))
  await waitUntil(() => copies.length === 2 && getUid() !== undefined)
  t.not(getUid(), before)
  await waitUntil(() => api.list('pods').length === 1)
  t.match((await server.settled('shop')).metadata, { status: 'running', error: undefined })
  for (const collection of ['services', 'secrets'] as const) {
    await waitUntil(() => api.list(collection).length === 1)
    api.remove(collection, ...api.list(collection))
    await waitUntil(() => api.list(collection).length === 1)
  }
  t.equal(copies.length, 2, 'the Deployment is unchanged')
  await run(server, 'Delete', {})
  for (const collection of ['deployments', 'pods', 'services', 'secrets'] as const)
    t.same(api.list(collection), [], collection)
})

t.test('reports a service that no node can run as pending with the reason', async (t) => {
  const cluster = await openCluster(t)
  cluster.kubelet.unscheduled = '0/3 nodes are available: insufficient memory'
  const server = await openServer(t, cluster)
  await run(server, 'Create', { image: 'shop:1' })
  await eventually(async () => (await server.read())[0]?.metadata['error'] !== undefined)
  t.match(await server.read(), [
    {
      metadata: {
        status: 'pending',
        error: 'no node can run it: 0/3 nodes are available: insufficient memory',
      },
    },
  ])
})
