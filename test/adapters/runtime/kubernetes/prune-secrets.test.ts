import t from 'tap'
import { findCluster } from '../../../../adapters/kubernetes/cluster.ts'
import { createCalls } from '../../../../adapters/runtime/kubernetes/calls.ts'
import { createNamespaceState } from '../../../../adapters/runtime/kubernetes/namespace-state.ts'
import { createSecretPruner } from '../../../../adapters/runtime/kubernetes/prune-secrets.ts'
import { openKubernetesApi } from '../../../fixtures/kubernetes-api.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

const ID = 'mx-shop-latest-0123456789'
const labels = { 'app.kubernetes.io/managed-by': 'mx', 'mx/workload': ID }

t.test('deletes unused Secrets except the current one', async (t) => {
  const api = await openKubernetesApi(t)
  api.enterCluster()
  for (const name of ['current', 'read', 'unread'])
    api.write('secrets', { metadata: { name, labels } })
  const annotations = { 'mx/secret': 'read' }
  api.write('pods', { metadata: { name: 'a', labels, annotations } })
  const find = () => findCluster({ accountFolder: api.accountFolder })
  const namespaceState = createNamespaceState({
    findCluster: find,
    onState: () => {},
    onOutage: () => {},
  })
  t.teardown(namespaceState.close)
  await namespaceState.query(() => {})
  const { prune, removeAll } = createSecretPruner(
    namespaceState,
    createCalls(find, new AbortController().signal),
  )
  const names = (): string[] => api.list('secrets').map(({ metadata }) => metadata.name)
  await prune(ID, 'current')
  t.same(names(), ['current', 'read'])
  await waitUntil(() => api.watchers.size === 2)
  api.remove('pods', 'a')
  await waitUntil(() => names().length === 1)
  t.same(names(), ['current'])
  await removeAll(ID)
  t.same(names(), [])
})
