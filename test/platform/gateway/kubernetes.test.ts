import t from 'tap'
import { openApi } from '../../fixtures/api.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { useKubeconfig } from '../../fixtures/kubeconfig.ts'
import { openKubernetesApi } from '../../fixtures/kubernetes-api.ts'
import {
  makeEndpoint,
  makeKubernetesService,
  makeSlice,
} from '../../fixtures/kubernetes-objects.ts'
import { listenHttp } from '../../fixtures/listen.ts'

t.test(
  'a Kubernetes Service without a ready endpoint returns 503, by name and by declared path',
  async (t) => {
    const port = await listenHttp(t, (_, response) => response.end('ok'))
    const kubernetes = await openKubernetesApi(t)
    useKubeconfig(t, kubernetes)
    const ports = [{ name: 'http', port, protocol: 'TCP' }]
    const show = (ready: boolean): void => {
      const endpoint = makeEndpoint('127.0.0.1', { conditions: { ready } })
      for (const name of ['shop', 'plain'])
        kubernetes.write('endpointslices', makeSlice(name, name, [endpoint], { ports }))
    }
    kubernetes.write('services', makeKubernetesService('shop', { 'mx/path': '/v1/items/*' }))
    kubernetes.write('services', makeKubernetesService('plain'))
    kubernetes.write('services', makeKubernetesService('mx-api', { 'mx/ignore': 'true' }))
    kubernetes.write('endpointslices', makeSlice('mx-api-a', 'mx-api', ['127.0.0.1'], { ports }))
    show(false)
    const gateway = await openApi(t, {
      MX_REGISTRY: 'kubernetes',
      MX_NAMESPACE: ' ',
      MX_ACCESS_LOG: 'off',
    })
    const sendRequest = async (path: string) => {
      const reply = await fetch(`http://127.0.0.1:${gateway.port}${path}`)
      await reply.text()
      return { status: reply.status, after: reply.headers.get('retry-after') }
    }
    const paths = ['/plain/a', '/v1/items/1']
    const expected = { status: 503, after: '1' }
    for (const path of paths)
      t.strictSame(await sendRequest(path), expected, `${path} before its first endpoint`)
    show(true)
    for (const path of paths) await eventually(async () => (await sendRequest(path)).status === 200)
    show(false)
    for (const path of paths) {
      await eventually(async () => (await sendRequest(path)).status !== 200)
      t.strictSame(await sendRequest(path), expected, path)
    }
    t.equal((await sendRequest('/mx-api/a')).status, 404, 'a Service with mx/ignore is unknown')
    kubernetes.remove('services', 'shop', 'plain')
    for (const path of paths) await eventually(async () => (await sendRequest(path)).status === 404)
  },
)
