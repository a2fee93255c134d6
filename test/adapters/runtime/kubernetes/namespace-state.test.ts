import t, { type Test } from 'tap'
import { findCluster } from '../../../../adapters/kubernetes/cluster.ts'
import { toId } from '../../../../adapters/runtime/kubernetes/names.ts'
import {
  createNamespaceState,
  type NamespaceState,
} from '../../../../adapters/runtime/kubernetes/namespace-state.ts'
import { type KubernetesApi, openKubernetesApi } from '../../../fixtures/kubernetes-api.ts'
import type { ApiObject } from '../../../fixtures/kubernetes-object.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

const KEY = { namespace: 'mx', name: 'shop', version: 'latest' }
const ID = toId(KEY)
const LABELS = { 'app.kubernetes.io/managed-by': 'mx', 'mx/workload': ID }

function makeDeployment(name: string = ID, labels: Record<string, string> = LABELS): ApiObject {
  const annotations = { 'mx/key': JSON.stringify(KEY) }
  return { metadata: { name, labels, annotations, generation: 1 }, spec: { replicas: 1 } }
}

function makePod(name: string, isReady: boolean): ApiObject {
  const status = isReady ? 'True' : 'False'
  return { metadata: { name, labels: LABELS }, status: { conditions: [{ type: 'Ready', status }] } }
}

interface Watched {
  readonly api: KubernetesApi
  readonly namespaceState: NamespaceState
  /** Reported status and number of ready instances. */
  readonly events: string[]
}

async function open(t: Test, prepare: (api: KubernetesApi) => void = () => {}): Promise<Watched> {
  const api = await openKubernetesApi(t)
  api.enterCluster()
  prepare(api)
  const events: string[] = []
  const namespaceState = createNamespaceState({
    findCluster: () => findCluster({ accountFolder: api.accountFolder }),
    onState: ({ status, ready }) => events.push(`${status} ${ready}`),
    onOutage: () => {},
  })
  t.teardown(namespaceState.close)
  await namespaceState.query(() => {})
  await waitUntil(() => api.watchers.size === 2)
  return { api, namespaceState, events }
}

t.test('emits every change and the end of a workload once', async (t) => {
  const { api, namespaceState, events } = await open(t)
  api.write('deployments', makeDeployment())
  await waitUntil(() => events.length === 1)
  api.write('pods', makePod('a', false))
  api.write('pods', makePod('a', true))
  await waitUntil(() => events.length === 2)
  api.write('pods', makePod('a', true))
  api.remove('pods', 'a')
  await waitUntil(() => events.length === 3)
  api.remove('deployments', ID)
  await waitUntil(() => events.length === 4)
  t.same(events, ['starting 0', 'running 1', 'starting 0', 'stopped 0'])
  t.same(namespaceState.states(), [])
})

t.test('stops a workload after its last pod', async (t) => {
  const { api, namespaceState, events } = await open(t, (api) => {
    api.write('deployments', makeDeployment())
    api.write('pods', makePod('a', true))
  })
  t.match(namespaceState.states(), [{ ...KEY, status: 'running', ready: 1 }])
  api.remove('deployments', ID)
  await waitUntil(() => events.at(-1) === 'stopping 0')
  t.match(namespaceState.states(), [{ ...KEY, status: 'stopping' }])
  api.remove('pods', 'a')
  await waitUntil(() => events.at(-1) === 'stopped 0')
})

t.test('emits missed changes after the next list', async (t) => {
  const { api, namespaceState, events } = await open(t, (api) => {
    api.write('deployments', makeDeployment())
    api.write('pods', makePod('a', true), makePod('b', true))
  })
  api.intercept = (_, request) => {
    request.socket.destroy()
    return true
  }
  api.disconnect()
  await waitUntil(() => api.watchers.size === 0)
  api.remove('pods', 'b')
  api.compact()
  api.intercept = () => false
  await waitUntil(() => events.at(-1) === 'running 1')
  t.same(
    namespaceState.listPods(ID).map(({ name }) => name),
    ['a'],
  )
})

t.test('ignores objects that mx did not create', async (t) => {
  const { namespaceState } = await open(t, (api) => {
    api.write('deployments', makeDeployment('other'))
    api.write('deployments', makeDeployment(ID, { app: 'shop' }))
    api.write('pods', { metadata: { name: 'a', labels: { app: 'shop' } } })
  })
  t.same(namespaceState.states(), [])
  t.same(namespaceState.listPods(ID), [])
})
