import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findCluster } from '../../../adapters/kubernetes/cluster.ts'
import { get, readText } from '../../../adapters/kubernetes/request.ts'
import { answerStatus, openKubernetesApi } from '../../fixtures/kubernetes-api.ts'
import { setEnv } from '../../fixtures/set-env.ts'

const SIGNAL = new AbortController().signal
const FOLDER = { token: 'one', namespace: 'shop\n', 'ca.crt': 'certificate' }

/** Neither a pod nor a kubeconfig. */
function leaveCluster(t: Test): void {
  setEnv(t, { KUBERNETES_SERVICE_HOST: undefined, KUBECONFIG: undefined, HOME: t.testdir({}) })
}

t.test('uses the service account and namespace of a pod', async (t) => {
  leaveCluster(t)
  setEnv(t, { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '6443' })
  const accountFolder = t.testdir(FOLDER)
  const cluster = await findCluster({ accountFolder })
  t.equal(cluster.server.href, 'https://10.96.0.1:6443/')
  t.equal(cluster.namespace, 'shop')
  t.same(await cluster.readOptions(), {
    ca: 'certificate',
    headers: { authorization: 'Bearer one' },
  })
  writeFileSync(join(accountFolder, 'token'), 'two\n')
  t.match(
    await cluster.readOptions(),
    { headers: { authorization: 'Bearer two' } },
    'a replaced token is reloaded',
  )
  t.equal((await findCluster({ accountFolder, namespace: 'other' })).namespace, 'other')
  setEnv(t, { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: undefined })
  t.equal((await findCluster({ accountFolder })).server.host, '[fd00::1]')
})

t.test('uses the context of the kubeconfig outside a cluster', async (t) => {
  leaveCluster(t)
  const api = await openKubernetesApi(t)
  const file = join(t.testdir({}), 'config')
  const ca = join(api.accountFolder, 'ca.crt')
  writeFileSync(
    file,
    `
apiVersion: v1
kind: Config
current-context: missing
clusters:
  - name: local
    cluster: { server: "${api.server}", certificate-authority: "${ca}" }
contexts:
  - name: missing
    context: { cluster: local, user: missing }
  - name: shop
    context: { cluster: local, user: pod, namespace: shop }
  - name: lost
    context: { cluster: gone, user: pod }
users:
  - name: missing
    user: {}
  - name: pod
    user: { token: "${api.token}" }
`,
  )
  setEnv(t, { KUBECONFIG: file })
  const path = '/api/v1/namespaces/shop/services'
  const current = await findCluster({})
  t.equal(current.namespace, 'default')
  t.equal(current.server.origin, api.server)
  await t.rejects(get(current, path, SIGNAL), { message: '401 Unauthorized' })
  const shop = await findCluster({ context: 'shop' })
  t.equal(shop.namespace, 'shop')
  t.match(JSON.parse(await readText(await get(shop, path, SIGNAL), 1e6)), { kind: 'List' })
  t.equal((await findCluster({ context: 'shop', namespace: 'other' })).namespace, 'other')
  await t.rejects(findCluster({ context: 'lost' }), {
    message: 'the kubeconfig has no context "lost" with a cluster; available: missing, shop, lost',
  })
  await t.rejects(findCluster({ context: 'shpo' }), {
    message: /no context "shpo" with a cluster/,
  })
})

t.test('sends no credentials to a server with an untrusted certificate', async (t) => {
  leaveCluster(t)
  const api = await openKubernetesApi(t)
  api.enterCluster()
  const other = await openKubernetesApi(t)
  let requests = 0
  api.intercept = (_, __, response) => {
    requests++
    answerStatus(response, 500, 'unexpected request')
    return true
  }
  copyFileSync(join(other.accountFolder, 'ca.crt'), join(api.accountFolder, 'ca.crt'))
  const cluster = await findCluster({ accountFolder: api.accountFolder })
  await t.rejects(get(cluster, '/api/v1/namespaces/shop/services', SIGNAL), {
    code: /CERT|SIGNATURE/,
  })
  t.equal(requests, 0)
})

t.test('names a malformed or missing kubeconfig in the error', async (t) => {
  leaveCluster(t)
  await t.rejects(findCluster({}), {
    message:
      'no Kubernetes cluster found: this is not a pod with a service account, KUBECONFIG is not set and ~/.kube/config does not exist',
  })
  setEnv(t, { KUBECONFIG: '/nonexistent/config' })
  await t.rejects(findCluster({}), {
    message: /^cannot read the kubeconfig \/nonexistent\/config: ENOENT/,
  })
  const file = join(t.testdir({ config: 'apiVersion: v1\nkind: Config\n' }), 'config')
  setEnv(t, { KUBECONFIG: file })
  await t.rejects(findCluster({}), {
    message: /has no context "" with a cluster; available: none$/,
  })
})

t.test('reads ~/.kube/config like kubectl', async (t) => {
  leaveCluster(t)
  const config = {
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
    users: [{ name: 'u', user: { token: 't' } }],
    'current-context': 'c',
  }
  setEnv(t, { HOME: t.testdir({ '.kube': { config: JSON.stringify(config) } }) })
  const cluster = await findCluster({})
  t.equal(cluster.server.href, 'https://127.0.0.1:6443/')
  t.equal(cluster.namespace, 'team')
})
