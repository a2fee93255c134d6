import t, { type Test } from 'tap'
import { findCluster } from '../../../../adapters/kubernetes/cluster.ts'
import { createDrift, type Drift } from '../../../../adapters/runtime/kubernetes/drift.ts'
import { toDeploymentState } from '../../../../adapters/runtime/kubernetes/objects.ts'
import { type KubernetesApi, openKubernetesApi } from '../../../fixtures/kubernetes-api.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

const KEY = { namespace: 'mx', name: 'shop', version: 'latest' }
const ID = 'mx-shop-latest-0123456789'
const SECRET = `${ID}-aaaaaaaaaa`
const OLD_SECRET = `${ID}-bbbbbbbbbb`
const labels = { 'app.kubernetes.io/managed-by': 'mx' }

interface Watched {
  readonly api: KubernetesApi
  readonly drift: Drift
  /** Names of drifted workloads. */
  readonly drifted: string[]
}

/** A cluster with the expected objects of a workload. */
async function open(t: Test): Promise<Watched> {
  const api = await openKubernetesApi(t)
  api.enterCluster()
  api.write('services', { metadata: { name: ID, labels } })
  for (const name of [SECRET, OLD_SECRET])
    api.write('secrets', { metadata: { name, labels }, data: { PASSWORD: 'aGlkZGVu' } })
  const drifted: string[] = []
  const drift = createDrift({
    findCluster: () => findCluster({ accountFolder: api.accountFolder }),
    onDrift: ({ name }) => drifted.push(name),
    onOutage: () => {},
  })
  t.teardown(drift.close)
  drift.expect(ID, { key: KEY, revision: '1', secret: SECRET, generation: 3 })
  await waitUntil(() => api.watchers.size === 2)
  return { api, drift, drifted }
}

t.test('reports a deleted Service or current Secret, but no other Secret', async (t) => {
  const { api, drift, drifted } = await open(t)
  api.remove('secrets', OLD_SECRET)
  api.remove('secrets', SECRET)
  await waitUntil(() => drifted.length === 1)
  api.remove('services', ID)
  await waitUntil(() => drifted.length === 2)
  drift.forget(ID)
  drift.compare(ID, undefined)
  t.same(drifted, ['shop', 'shop'])
})

t.test('reports an object deleted during an outage afterwards', async (t) => {
  const { api, drifted } = await open(t)
  api.disconnect()
  api.remove('services', ID)
  api.compact()
  await waitUntil(() => drifted.length === 1)
})

t.test('reports a deleted or changed Deployment', async (t) => {
  const { drift, drifted } = await open(t)
  const toDeployment = (revision: string, generation: number) =>
    toDeploymentState({
      metadata: { generation, annotations: { 'mx/key': JSON.stringify(KEY) } },
      spec: { template: { metadata: { annotations: { 'mx/revision': revision } } } },
    })
  drift.compare(ID, toDeployment('1', 4))
  drift.compare(ID, toDeployment('0', 2))
  t.same(drifted, [], 'neither another generation nor an earlier one counts')
  drift.compare(ID, toDeployment('0', 4))
  drift.compare(ID, undefined)
  t.equal(drifted.length, 2)
})

t.test('does not read credentials', async (t) => {
  const { api } = await open(t)
  const sent: string[] = []
  for (const { line } of api.watchers)
    sent.push(line({ version: 1, type: 'ADDED', object: api.list('secrets')[0]! }))
  t.notMatch(sent.join(), /aGlkZGVu/)
})
