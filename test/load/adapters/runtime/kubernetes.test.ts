import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { createKubernetesRegistry } from '../../../../adapters/registry/kubernetes.ts'
import {
  createKubernetesRuntime,
  type KubernetesRuntimeOptions,
} from '../../../../adapters/runtime/kubernetes.ts'
import type { Runtime, Workload, WorkloadState } from '../../../../core/contracts/runtime.ts'
import { ROOT } from '../../../../scripts/root.ts'
import { testRuntime, whenState } from '../../../contracts/runtime.ts'
import {
  answerStatus,
  type Collection,
  openKubernetesApi,
} from '../../../fixtures/kubernetes-api.ts'
import { type PodInstance, startKubelet } from '../../../fixtures/kubernetes-kubelet.ts'
import type { ApiObject } from '../../../fixtures/kubernetes-object.ts'
import { makeSlice } from '../../../fixtures/kubernetes-objects.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

/** Instances by pod name. */
const instances = new Map<string, PodInstance>()
const pending: PodInstance[] = []
const IMAGES: Readonly<Record<string, (instance: PodInstance) => void>> = {
  serves(instance) {
    instances.set(instance.pod, instance)
    for (const line of ['one', 'two', 'three']) instance.write(line)
    setImmediate(instance.listen)
  },
  fails({ write, exit }) {
    write('boom')
    setImmediate(() => exit(3))
  },
  'exceeds-memory'({ exit }) {
    setImmediate(() => exit(137, 'OOMKilled'))
  },
  'ignores-sigterm'(instance) {
    pending.push(instance)
    instance.onTerm = () => {}
    setImmediate(instance.listen)
  },
}
interface ServicePort {
  readonly name: string
  readonly port: number
}

const KEY = { namespace: 'mx', name: 'shop', version: 'latest' }

const api = await openKubernetesApi(t)
api.enterCluster()
const kubelet = startKubelet(api, { images: IMAGES })
let spaces = 0

/** A runtime in its own Kubernetes namespace. */
function open(t: Test, options: KubernetesRuntimeOptions = {}): Runtime & { space: string } {
  const space = options.namespace ?? `shop-${++spaces}`
  api.namespaces.add(space)
  const { accountFolder } = api
  const runtime = createKubernetesRuntime({ accountFolder, namespace: space, ...options })
  t.teardown(async () => {
    api.intercept = () => false
    await runtime.close()
  })
  return { ...runtime, space }
}

function toWorkload(image: string, changes: Partial<Workload> = {}): Workload {
  return {
    ...{ ...KEY, revision: '1' },
    program: { kind: 'image', image },
    instances: 1,
    env: {},
    resources: {},
    protocol: 'mx',
    ...changes,
  }
}

function list(collection: Collection, space: string): ApiObject[] {
  return api.list(collection).filter(({ metadata }) => metadata.namespace === space)
}

const listNames = (objects: ApiObject[]): string[] => objects.map(({ metadata }) => metadata.name)

testRuntime(t, (t) => ({ runtime: open(t), toWorkload }))

t.test('passes the environment, with secrets in a Secret only', async (t) => {
  const runtime = open(t)
  const env = { MX_PROFILE: 'service', MX_AUTH_SECRET: 's3cret', GREETING: 'a $(PATH) $$(B) $' }
  await runtime.apply(toWorkload('serves', { env }))
  const state = await whenState(runtime, ({ status }) => status === 'running')
  const [pod] = listNames(list('pods', runtime.space))
  const expectedEnv = { ...env, MX_SERVICE_ADDRESS: ':8080', MX_INSTANCE: pod }
  t.strictSame(instances.get(pod!)?.env, expectedEnv)
  const publicObjects = JSON.stringify([
    ...list('deployments', runtime.space),
    ...list('pods', runtime.space),
  ])
  t.notMatch(publicObjects, /s3cret|PATH/)
  t.equal(state.ready, 1)
})

t.test('makes instances discoverable by service name in the Kubernetes registry', async (t) => {
  const runtime = open(t)
  const { space: namespace } = runtime
  const env = { MX_SERVICE_NAME: 'go.mx.api.shop' }
  await runtime.apply(toWorkload('serves', { env, version: 'feature/x' }))
  await runtime.apply(toWorkload('serves', { name: 'web', protocol: 'http', port: 80 }))
  for (const { metadata, ...rest } of list('services', namespace)) {
    const [{ name, port }] = (rest as unknown as { spec: { ports: [ServicePort] } }).spec.ports
    const slice = makeSlice(metadata.name, metadata.name, ['10.0.0.1'], { ports: [{ name, port }] })
    api.write('endpointslices', { ...slice, metadata: { ...slice.metadata, namespace } })
  }
  const registry = createKubernetesRegistry({ accountFolder: api.accountFolder, namespace })
  const before = api.access.length
  t.teardown(async () => {
    const watched = () => new Set([...api.watchers].map(({ collection }) => collection))
    await waitUntil(() => watched().has('services') && watched().has('endpointslices'))
    await registry.close?.()
    // Permissions of the registry are not part of the runtime's role.
    api.access.splice(before)
  })
  t.match(await registry.getService('go.mx.api.shop'), [
    { version: 'feature/x', nodes: [{ address: '10.0.0.1:8080', metadata: { protocol: 'mx' } }] },
  ])
  t.match(await registry.getService('web'), [
    {
      version: 'latest',
      endpoints: [{ metadata: { handler: 'web', path: '/web,/web/**' } }],
      nodes: [{ address: '10.0.0.1:80' }],
    },
  ])
})

t.test('adopts running workloads after a restart without restarting them', async (t) => {
  const before = open(t)
  await before.apply(toWorkload('serves'))
  const state = await whenState(before, ({ status }) => status === 'running')
  await before.close()
  const pods = listNames(list('pods', before.space))
  const after = open(t, { namespace: before.space })
  t.strictSame(await after.read(), [state])
  await after.apply(toWorkload('serves'))
  t.strictSame(await after.read(), [state])
  t.strictSame(listNames(list('pods', before.space)), pods)
})

t.test('replaces instances one by one when credentials change', async (t) => {
  const runtime = open(t)
  await runtime.apply(toWorkload('serves', { env: { MX_AUTH_SECRET: 'a' } }))
  await whenState(runtime, ({ status }) => status === 'running')
  const states: WorkloadState[] = []
  runtime.watch((state) => states.push(state))
  await runtime.apply(toWorkload('serves', { env: { MX_AUTH_SECRET: 'b' } }))
  await waitUntil(() => {
    const [pod, ...otherPods] = list('pods', runtime.space)
    return (
      otherPods.length === 0 && instances.get(pod!.metadata.name)?.env['MX_AUTH_SECRET'] === 'b'
    )
  })
  t.ok(states.every(({ status, ready }) => status === 'running' && ready > 0))
})

t.test('maps a namespace to an existing Kubernetes namespace', async (t) => {
  const runtime = open(t)
  const acme = toWorkload('serves', { namespace: 'acme' })
  await t.rejects(Promise.resolve(runtime.apply(acme)), {
    message: `cannot apply Kubernetes secrets: 404 namespaces "${runtime.space}-acme" not found`,
  })
  t.strictSame(await runtime.read(), [])
  api.namespaces.add(`${runtime.space}-acme`)
  await runtime.apply(toWorkload('serves'))
  await runtime.apply(acme)
  t.ok(
    await whenState(
      runtime,
      ({ namespace, status }) => namespace === 'acme' && status === 'running',
    ),
  )
  t.equal((await runtime.read()).length, 2)
  t.equal(list('deployments', `${runtime.space}-acme`).length, 1)
  await runtime.remove(acme)
  t.match(await runtime.read(), [KEY])
})

t.test('reports an unavailable image immediately with the reason', async (t) => {
  const runtime = open(t)
  await runtime.apply(toWorkload('example/missing:1'))
  const { error } = await whenState(runtime, ({ status }) => status === 'error')
  t.equal(error, 'ErrImagePull: failed to pull image "example/missing:1": not found')
})

t.test('reports an instance killed beyond its memory limit', async (t) => {
  const runtime = open(t)
  await runtime.apply(toWorkload('exceeds-memory', { resources: { memoryBytes: 2 ** 26 } }))
  const { error } = await whenState(runtime, ({ status }) => status === 'error')
  t.equal(error, 'CrashLoopBackOff: OOMKilled, exit code 137')
})

t.test('reports an unschedulable instance as pending, then as an error', async (t) => {
  const runtime = open(t)
  kubelet.unscheduled = '0/3 nodes are available: insufficient memory'
  kubelet.secondMs = 0.1
  t.teardown(() => {
    kubelet.unscheduled = undefined
    kubelet.secondMs = 1000
  })
  const statuses: string[] = []
  runtime.watch(({ status }) => statuses.push(status))
  await runtime.apply(toWorkload('serves'))
  const { error } = await whenState(runtime, ({ status }) => status === 'error')
  t.match(statuses.slice(-2), ['pending', 'error'])
  t.equal(
    error,
    'not ready within 300 s: no node can run it: 0/3 nodes are available: insufficient memory',
  )
})

t.test('reports the reason when the cluster rejects instances', async (t) => {
  const runtime = open(t)
  kubelet.refused = 'pods "shop" is forbidden: exceeded quota'
  t.teardown(() => {
    kubelet.refused = undefined
  })
  await runtime.apply(toWorkload('serves'))
  const { error } = await whenState(runtime, ({ status }) => status === 'error')
  t.equal(error, 'pods "shop" is forbidden: exceeded quota')
})

t.test('restarts a failed revision that is applied again', async (t) => {
  const runtime = open(t)
  await runtime.apply(toWorkload('fails'))
  await whenState(runtime, ({ status }) => status === 'error')
  const before = listNames(list('pods', runtime.space))
  await runtime.apply(toWorkload('fails'))
  t.match(await runtime.read(), [{ status: 'starting', error: undefined }])
  await whenState(runtime, ({ status }) => status === 'error')
  t.not(listNames(list('pods', runtime.space))[0], before[0])
})

t.test('waits for the instances on removal and leaves nothing', async (t) => {
  const runtime = open(t)
  await runtime.apply(toWorkload('ignores-sigterm'))
  await whenState(runtime, ({ status }) => status === 'running')
  await runtime.apply(toWorkload('ignores-sigterm', { revision: '2' }))
  await whenState(runtime, ({ revision }) => revision === '2')
  const statuses: string[] = []
  runtime.watch(({ status }) => statuses.push(status))
  let isDone = false
  const removal = Promise.resolve(runtime.remove(KEY)).then(() => {
    isDone = true
  })
  await waitUntil(() => statuses.includes('stopping'))
  t.notOk(isDone, 'an instance still runs')
  for (const instance of pending) instance.exit(0)
  await removal
  t.equal(statuses.at(-1), 'stopped')
  for (const collection of ['deployments', 'pods', 'services', 'secrets'] as const)
    t.strictSame(list(collection, runtime.space), [], collection)
})

t.test('keeps only the Secrets in use', async (t) => {
  const runtime = open(t)
  const env = (revision: string) => ({ MX_AUTH_SECRET: `secret of ${revision}` })
  for (const revision of ['1', '2', '3']) {
    await runtime.apply(toWorkload('serves', { revision, env: env(revision) }))
    await whenState(runtime, (state) => state.revision === revision && state.status === 'running')
  }
  await waitUntil(() => list('secrets', runtime.space).length === 1)
  t.equal(
    list('pods', runtime.space).length,
    1,
    "an old revision's Secret is deleted with its last instance",
  )
})

t.test('names the required verbs on missing permissions', async (t) => {
  const runtime = open(t)
  await runtime.read()
  api.intercept = (_, { method }, response) => {
    if (method !== 'PATCH') return false
    answerStatus(response, 403, 'secrets is forbidden')
    return true
  }
  await t.rejects(Promise.resolve(runtime.apply(toWorkload('serves'))), {
    message:
      'cannot apply Kubernetes secrets: access denied; grant the verbs create and patch on secrets in the core API group "" with a Role and a RoleBinding (403 secrets is forbidden)',
  })
})

t.test('retries conflicts, overload and broken connections', async (t) => {
  const runtime = open(t)
  await runtime.read()
  let failures = 0
  api.intercept = (_, request, response) => {
    if (request.method !== 'PATCH' || ++failures > 3) return false
    if (failures === 1) answerStatus(response, 409, 'the object has been modified')
    else if (failures === 2) answerStatus(response, 503, 'etcd is unavailable')
    else request.socket.destroy()
    return true
  }
  await runtime.apply(toWorkload('serves'))
  t.ok(failures > 3)
  t.ok(await whenState(runtime, ({ status }) => status === 'running'))
})

t.test('returns the last known state during an outage and reports it', async (t) => {
  const problems: string[] = []
  const runtime = open(t, { onProblem: (problem) => problems.push(problem) })
  await runtime.apply(toWorkload('serves'))
  const state = await whenState(runtime, ({ status }) => status === 'running')
  api.intercept = (_, request) => {
    request.socket.destroy()
    return true
  }
  api.disconnect()
  await waitUntil(() => problems.length > 0)
  t.match(problems[0], /^cannot watch Kubernetes (pods|deployments): /)
  t.strictSame(await runtime.read(), [state])
})

t.test('rejects queries when the cluster denies watching', async (t) => {
  const runtime = open(t, { onProblem: () => {} })
  api.intercept = (_, __, response) => {
    answerStatus(response, 403, 'no')
    return true
  }
  await t.rejects(Promise.resolve(runtime.read()), /cannot watch Kubernetes .*access denied/)
  await t.rejects(Promise.resolve(runtime.apply(toWorkload('serves'))), /access denied/)
})

t.test('rejects a program that is not an image before any write', async (t) => {
  const runtime = open(t)
  const program = { kind: 'process' as const, folder: '/', command: ['true'] }
  await t.rejects(Promise.resolve(runtime.apply(toWorkload('', { program }))), {
    name: 'TypeError',
    message: 'shop cannot run in Kubernetes: the program must be an image',
  })
  t.strictSame(list('secrets', runtime.space), [])
})

t.test('ends the watches on close without restarts', async (t) => {
  const runtime = open(t)
  await runtime.apply(toWorkload('serves'))
  await whenState(runtime, ({ status }) => status === 'running')
  const countWatchers = (): number =>
    [...api.watchers].filter(({ namespace }) => namespace === runtime.space).length
  await waitUntil(() => countWatchers() === 4)
  await runtime.close()
  await waitUntil(() => countWatchers() === 0)
  t.equal(list('pods', runtime.space).length, 1)
  await t.rejects(Promise.resolve(runtime.read()), /the Kubernetes runtime is closed/)
})

t.test('needs exactly the permissions of the documented role', async (t) => {
  const docs = readFileSync(join(ROOT, 'docs/kubernetes.md'), 'utf8')
  const manifests = [...docs.matchAll(/```yaml\n(.*?)```/gs)].flatMap(([, text]) =>
    parseAllDocuments(text!).map((document) => document.toJS()),
  )
  const role = manifests.find(
    ({ kind, metadata }) => kind === 'Role' && metadata.name === 'mx-runtime',
  )
  interface Rule {
    apiGroups: string[]
    resources: string[]
    verbs: string[]
  }
  const granted = (role.rules as Rule[]).flatMap(({ apiGroups: [group], resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
  )
  const required = new Set(
    api.access.map(({ verb, group, resource }) => `${verb} ${group}/${resource}`),
  )
  // A patch that creates an object requires `create`, and its response requires `get`.
  for (const permission of [...required])
    if (permission.startsWith('patch ')) required.add(permission.replace('patch', 'create'))
  t.strictSame(granted.toSorted(), [...required].toSorted())
})
