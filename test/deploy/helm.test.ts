import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { ROOT } from '../../scripts/root.ts'
import { checkRelease, find, toPod, toRelease } from '../fixtures/releases.ts'
import { skipUnless } from '../fixtures/servers.ts'

const CHART = join(ROOT, 'deploy/helm/mx')

function run(program: string, words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8' })
  return { status, stdout, stderr }
}

/** Renders the chart with values. */
function render(t: Test, helm: string, values: object) {
  const file = join(t.testdir({ 'values.yaml': stringify(values) }), 'values.yaml')
  return run(helm, ['template', 'edge', CHART, '--namespace=shop', `--values=${file}`])
}

t.test('the chart passes helm lint with all values of ci/', async (t) => {
  const helm = skipUnless(t, 'helm')
  if (helm === undefined) return
  for (const name of readdirSync(join(CHART, 'ci'))) {
    const { status, stdout } = run(helm, [
      ...['lint', '--strict', CHART, '--namespace=shop'],
      `--values=${join(CHART, 'ci', name)}`,
    ])
    t.equal(status, 0, `${name}: ${stdout}`)
  }
})

t.test('the chart renders the published manifests of mx server', async (t) => {
  const helm = skipUnless(t, 'helm')
  if (helm === undefined) return
  const PATH = `${dirname(helm)}:${process.env['PATH']}`
  const { status, stdout, stderr } = spawnSync(
    'bash',
    [join(ROOT, 'scripts/render-manifests.sh'), '--check'],
    { encoding: 'utf8', env: { ...process.env, PATH } },
  )
  t.equal(status, 0, `${stdout}${stderr}`)
})

t.test('the chart renders valid manifests with every value set', async (t) => {
  const helm = skipUnless(t, 'helm')
  if (helm === undefined) return
  const values = {
    replicas: 3,
    image: { repository: 'registry.example.com/mx', tag: 'next', pullPolicy: 'Always' },
    imagePullSecrets: [{ name: 'pull' }],
    fullnameOverride: 'front',
    config: { drain_timeout: '15s', services: { plain: ['127.0.0.1:9001'] } },
    existingSecret: 'front',
    env: [{ name: 'MX_LOG_LEVEL', value: 'warn' }],
    persistence: { size: '1Gi', storageClass: 'fast' },
    runtime: { namespaces: ['shop-acme'] },
    service: { type: 'LoadBalancer', port: 443, annotations: { a: 'b' } },
    serviceAccount: { name: 'front', annotations: { a: 'b' } },
    autoscaling: { enabled: true },
    podAnnotations: { a: 'b' },
    podLabels: { team: 'edge' },
    nodeSelector: { 'kubernetes.io/arch': 'amd64' },
    tolerations: [{ key: 'edge', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    priorityClassName: 'system-cluster-critical',
    volumes: [{ name: 'tls', secret: { secretName: 'tls' } }],
    volumeMounts: [{ name: 'tls', mountPath: '/etc/mx/tls', readOnly: true }],
  }
  const kinds = {
    api: { program: 'api' },
    embedded: { program: 'server', storage: 'embedded' },
    external: { program: 'server', storage: 'external' },
  }
  for (const [name, kind] of Object.entries(kinds))
    await t.test(name, async (t) => {
      const { stdout, stderr } = render(t, helm, { ...values, ...kind })
      t.equal(stderr, '')
      const release = toRelease(stdout)
      await checkRelease(t, release)
      const pod = toPod(release)
      t.match(pod.spec, { serviceAccountName: 'front', priorityClassName: /./ })
      t.equal(pod.spec!.containers[0]!.image, 'registry.example.com/mx:next')
      t.match(release.config, 'drain_timeout: 15s')
      const hasScaler = find(release.manifests, 'HorizontalPodAutoscaler') !== undefined
      t.equal(hasScaler, name !== 'embedded')
      const outsideNamespace = release.manifests.filter(
        ({ metadata }) => metadata.namespace !== 'shop',
      )
      const extraKinds = name === 'api' ? [] : ['Role', 'RoleBinding']
      t.same(outsideNamespace.map(({ kind }) => kind).sort(), extraKinds)
    })
})

t.test('disabled parts are not rendered', async (t) => {
  const helm = skipUnless(t, 'helm')
  if (helm === undefined) return
  const disabled = { enabled: false }
  const { stdout } = render(t, helm, {
    ...{ networkPolicy: disabled, podDisruptionBudget: disabled, runtime: disabled },
    serviceAccount: { create: false },
  })
  const { manifests, config } = toRelease(stdout)
  for (const kind of ['NetworkPolicy', 'PodDisruptionBudget', 'ServiceAccount'])
    t.equal(find(manifests, kind), undefined, kind)
  t.match(config, 'runtime: none')
  t.same(
    manifests.filter(({ kind }) => kind === 'Role').map(({ metadata }) => metadata.name),
    ['edge-mx-registry'],
  )
})

t.test('rejects invalid values and names them', async (t) => {
  const helm = skipUnless(t, 'helm')
  if (helm === undefined) return
  const invalid: [values: object, problem: RegExp][] = [
    [{ program: 'sever' }, /\/program/],
    [{ storage: 'external' }, /\/existingSecret/],
    [{ config: { address: ':9000' } }, /\/config\/address/],
    [{ replicaCount: 3 }, /replicaCount/],
    [{ service: { type: 'ExternalName' } }, /\/service\/type/],
  ]
  for (const [values, problem] of invalid) {
    const { status, stderr } = render(t, helm, values)
    t.not(status, 0)
    t.match(stderr, problem)
  }
})
