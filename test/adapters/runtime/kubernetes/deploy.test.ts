import t, { type Test } from 'tap'
import { findCluster } from '../../../../adapters/kubernetes/cluster.ts'
import { createCalls } from '../../../../adapters/runtime/kubernetes/calls.ts'
import {
  deploy,
  type NamespaceContext,
  undeploy,
} from '../../../../adapters/runtime/kubernetes/deploy.ts'
import { createDrift } from '../../../../adapters/runtime/kubernetes/drift.ts'
import type { PodOptions } from '../../../../adapters/runtime/kubernetes/manifests.ts'
import { toId } from '../../../../adapters/runtime/kubernetes/names.ts'
import { createNamespaceState } from '../../../../adapters/runtime/kubernetes/namespace-state.ts'
import { createSecretPruner } from '../../../../adapters/runtime/kubernetes/prune-secrets.ts'
import type { Workload } from '../../../../core/contracts/runtime.ts'
import { type KubernetesApi, openKubernetesApi } from '../../../fixtures/kubernetes-api.ts'
import { type PodInstance, startKubelet } from '../../../fixtures/kubernetes-kubelet.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

const WORKLOAD: Workload = {
  ...{ namespace: 'mx', name: 'shop', version: 'latest', revision: '1' },
  program: { kind: 'image', image: 'ignores-sigterm' },
  ...{ instances: 1, env: {}, resources: {}, protocol: 'mx' },
}
const ID = toId(WORKLOAD)
const PODS: PodOptions = { podSecurity: 'restricted', isRootReadOnly: true, requests: {} }

interface Deployed {
  readonly api: KubernetesApi
  readonly context: NamespaceContext
  readonly copies: PodInstance[]
  /** Names of workloads changed by others. */
  readonly drifted: string[]
}

async function open(t: Test): Promise<Deployed> {
  const api = await openKubernetesApi(t)
  api.enterCluster()
  const copies: PodInstance[] = []
  const ignoresSigterm = (copy: PodInstance): void => {
    copies.push(copy)
    copy.onTerm = () => {}
    setImmediate(copy.listen)
  }
  const fails = ({ exit }: PodInstance): void => void setImmediate(() => exit(1))
  startKubelet(api, { images: { 'ignores-sigterm': ignoresSigterm, fails }, graceMs: 10_000 })
  const find = () => findCluster({ accountFolder: api.accountFolder })
  const drifted: string[] = []
  const drift = createDrift({
    ...{ findCluster: find, onOutage: () => {} },
    onDrift: ({ name }) => drifted.push(name),
  })
  const space = createNamespaceState({
    ...{ findCluster: find, onDeployment: drift.compare },
    ...{ onState: () => {}, onOutage: () => {} },
  })
  t.teardown(() => {
    space.close()
    drift.close()
  })
  const calls = createCalls(find, new AbortController().signal)
  const secrets = createSecretPruner(space, calls)
  return { api, context: { space, calls, drift, secrets }, copies, drifted }
}

const toAttempts = (api: KubernetesApi): unknown[] =>
  api
    .list('pods')
    .map(({ metadata }) => (metadata['annotations'] as Record<string, string>)['mx/attempt'])

t.test('resolves when the watch has reported the writes', async (t) => {
  const { context } = await open(t)
  for (const revision of ['1', '2', '3']) {
    await deploy(context, { ...WORKLOAD, revision }, PODS)
    t.match(context.space.findDeployment(ID), { revision, generation: Number(revision) })
  }
})

t.test('waits for a workload being deleted before it creates it again', async (t) => {
  const { api, context, copies } = await open(t)
  await deploy(context, WORKLOAD, PODS)
  await waitUntil(() =>
    context.space.listPods(ID).some(({ readySinceMs }) => readySinceMs !== undefined),
  )
  const [uid] = api.list('deployments').map(({ metadata }) => metadata['uid'])
  await context.calls.remove({ name: 'deployments', group: 'apps' }, ID, 'Foreground')
  await waitUntil(() => context.space.findDeployment(ID)?.isEnding === true)
  const repeated = deploy(context, WORKLOAD, PODS)
  copies[0]!.exit(0)
  await repeated
  t.match(api.list('deployments'), [{ metadata: { name: ID } }])
  t.not(api.list('deployments')[0]!.metadata['uid'], uid)
  await waitUntil(() => copies.length === 2)
})

t.test('starts a new attempt only after a failure', async (t) => {
  const { api, context } = await open(t)
  const failing: Workload = { ...WORKLOAD, program: { kind: 'image', image: 'fails' } }
  await deploy(context, WORKLOAD, PODS)
  await waitUntil(() => api.list('pods').length === 1)
  await deploy(context, WORKLOAD, PODS)
  t.same(toAttempts(api), [undefined])
  await undeployNow(context, api)
  await deploy(context, failing, PODS)
  await waitUntil(() => context.space.states()[0]?.status === 'error')
  await deploy(context, failing, PODS)
  await waitUntil(() => toAttempts(api).some((attempt) => attempt !== undefined))
})

t.test('detects changes by others but not its own', async (t) => {
  const { api, context, copies, drifted } = await open(t)
  const env = (value: string) => ({ MX_AUTH_SECRET: value })
  for (const revision of ['1', '2'])
    await deploy(context, { ...WORKLOAD, revision, env: env(revision) }, PODS)
  await waitUntil(() => copies.length === 2)
  copies[0]!.exit(0)
  await waitUntil(() => api.list('secrets').length === 1)
  t.same(drifted, [])

  const [deployment] = api.list('deployments')
  const spec = JSON.parse(JSON.stringify(deployment!['spec']))
  spec.template.metadata.annotations['mx/revision'] = '1'
  const generation = Number(deployment!.metadata['generation']) + 1
  const changes: (() => void)[] = [
    () => api.remove('services', ID),
    () => api.remove('secrets', ...api.list('secrets')),
    () => api.write('deployments', { metadata: { ...deployment!.metadata, generation }, spec }),
    () => api.remove('deployments', ID),
  ]
  for (const change of changes) {
    drifted.length = 0
    change()
    await waitUntil(() => drifted.includes('shop'))
  }
  drifted.length = 0
  api.remove('pods', ...api.list('pods'))
  await undeploy(context, WORKLOAD)
  t.same(drifted, [])
})

t.test('deletes Service and Secret with the Deployment, after its instances', async (t) => {
  const { api, context, copies } = await open(t)
  await deploy(context, WORKLOAD, PODS)
  await waitUntil(() => copies.length === 1)
  const [deployment] = api.list('deployments')
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: ID }
  for (const { metadata } of [...api.list('services'), ...api.list('secrets')])
    t.match(metadata, { ownerReferences: [{ ...owner, uid: deployment!.metadata['uid'] }] })
  const removal = undeploy(context, WORKLOAD)
  await waitUntil(() => context.space.findDeployment(ID)?.isEnding === true)
  t.equal(api.list('services').length, 1, 'gateways use the Service to drain the instances')
  copies[0]!.exit(0)
  await removal
  t.same([...api.list('services'), ...api.list('secrets')], [])
})

t.test('removes leftover objects of a missing workload', async (t) => {
  const { api, context } = await open(t)
  await undeploy(context, WORKLOAD)
  api.write('services', { metadata: { name: ID } })
  api.write('secrets', { metadata: { name: `${ID}-a`, labels: { 'mx/workload': ID } } })
  await undeploy(context, WORKLOAD)
  t.same([...api.list('services'), ...api.list('secrets')], [])
})

/** Removes the workload, whose instances end immediately. */
async function undeployNow(context: NamespaceContext, api: KubernetesApi): Promise<void> {
  const removal = undeploy(context, WORKLOAD)
  await waitUntil(() => context.space.findDeployment(ID)?.isEnding === true)
  api.remove('pods', ...api.list('pods'))
  await removal
}
