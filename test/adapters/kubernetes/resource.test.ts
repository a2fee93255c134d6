import t from 'tap'
import { toPath } from '../../../adapters/kubernetes/resource.ts'

t.test('builds paths of group, namespace and collection', async (t) => {
  const deployments = { name: 'deployments', group: 'apps' }
  t.equal(toPath(deployments, 'shop'), '/apis/apps/v1/namespaces/shop/deployments')
  t.equal(toPath(deployments, 'shop', 'a'), '/apis/apps/v1/namespaces/shop/deployments/a')
  t.equal(toPath({ name: 'pods', group: '' }, 'shop', 'a'), '/api/v1/namespaces/shop/pods/a')
})
