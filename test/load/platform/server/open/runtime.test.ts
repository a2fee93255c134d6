import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { V1Deployment, V1PodSpec } from '@kubernetes/client-node'
import t, { type Test } from 'tap'
import type { Runtime } from '../../../../../core/contracts/runtime.ts'
import {
  type OpenRuntimeOptions,
  openRuntime,
  openRuntimeFolder,
} from '../../../../../platform/server/open/runtime.ts'
import type { ServerRegistries } from '../../../../../platform/server/server-registries.ts'
import { useKubeconfig } from '../../../../fixtures/kubeconfig.ts'
import { type KubernetesApi, openKubernetesApi } from '../../../../fixtures/kubernetes-api.ts'
import { createQuietLog, openRegistry } from '../../../../fixtures/sdk-services.ts'
import { makeTempFolder } from '../../../../fixtures/temp-folder.ts'

function open(t: Test, changes: Partial<OpenRuntimeOptions['settings']>): Promise<Runtime> {
  const registry = openRegistry(t)
  const settings = {
    runtime: 'process',
    runtimePodSecurity: 'restricted',
    restartDelayMaxMs: 60_000,
    runtimeReadOnlyRoot: true,
    runtimeCpuRequest: 0.1,
    runtimeMemoryRequestBytes: 0,
    ...changes,
  } as const
  return openRuntime({
    settings,
    registries: { registry, create: () => registry } as unknown as ServerRegistries,
    folder: makeTempFolder(t, 'runtime'),
    log: createQuietLog('runtime').log,
  })
}

t.test('opens the configured runtime', async (t) => {
  for (const [name, runs] of [
    ['process', 'process'],
    ['kubernetes', 'image'],
  ] as const) {
    const runtime = await open(t, { runtime: name })
    t.equal(runtime.runs, runs)
    await runtime.close()
  }
})

/** Spec of the pods of an image in Kubernetes. */
async function deployImage(
  t: Test,
  api: KubernetesApi,
  settings: Partial<OpenRuntimeOptions['settings']>,
): Promise<V1PodSpec> {
  const runtime = await open(t, { runtime: 'kubernetes', ...settings })
  t.teardown(() => runtime.close())
  await runtime.apply({
    ...{ namespace: 'mx', name: 'shop', version: 'v1', revision: '1' },
    program: { kind: 'image', image: 'shop:1' },
    ...{ instances: 1, env: {}, resources: {}, protocol: 'mx' },
  })
  const { spec } = api.list('deployments').at(-1) as unknown as V1Deployment
  return spec!.template.spec!
}

t.test('runtime_pod_security controls whether pods may run as root', async (t) => {
  const api = await openKubernetesApi(t)
  useKubeconfig(t, api)
  for (const [runtimePodSecurity, runAsNonRoot] of [
    ['restricted', true],
    ['baseline', undefined],
  ] as const) {
    const { securityContext } = await deployImage(t, api, { runtimePodSecurity })
    t.equal(securityContext!.runAsNonRoot, runAsNonRoot, runtimePodSecurity)
  }
})

t.test('pods have the configured resource requests and root file system', async (t) => {
  const api = await openKubernetesApi(t)
  useKubeconfig(t, api)
  for (const [settings, requests, readOnlyRootFilesystem] of [
    [{}, { cpu: '100m' }, true],
    [
      { runtimeReadOnlyRoot: false, runtimeCpuRequest: 0, runtimeMemoryRequestBytes: 1e6 },
      { memory: '1000000' },
      undefined,
    ],
  ] as const) {
    const { resources, securityContext } = (await deployImage(t, api, settings)).containers[0]!
    t.same(resources!.requests, requests)
    t.equal(securityContext!.readOnlyRootFilesystem, readOnlyRootFilesystem)
  }
})

t.test('removes the temporary folder on close', async (t) => {
  const folder = await openRuntimeFolder()
  t.ok(existsSync(folder.path))
  await folder.close()
  t.notOk(existsSync(join(folder.path)))
})
