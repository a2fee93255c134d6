import t from 'tap'
import {
  toDeployment,
  toSecret,
  toService,
} from '../../../../adapters/runtime/kubernetes/manifests.ts'
import type { Workload } from '../../../../core/contracts/runtime.ts'

const WORKLOAD: Workload = {
  ...{ namespace: 'mx', name: 'shop', version: 'v1', revision: 'r1' },
  program: { kind: 'image', image: 'shop:1', command: ['serve', '$(HOME)'], args: ['$$'] },
  instances: 3,
  env: { MX_NAMESPACE: 'mx', MX_AUTH_SECRET: 's3cret' },
  resources: { memoryBytes: 128 * 1024 ** 2, cpus: 0.25 },
  protocol: 'mx',
}
const OPTIONS = {
  podSecurity: 'restricted',
  isRootReadOnly: true,
  requests: {},
  attempt: undefined,
} as const

function toContainer(changes: Partial<Workload>) {
  return toDeployment({ ...WORKLOAD, ...changes }, OPTIONS).spec!.template.spec!.containers[0]!
}

t.test('rolls out a revision without reducing capacity, with a deadline', async (t) => {
  t.match(toDeployment(WORKLOAD, OPTIONS).spec, {
    replicas: 3,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    progressDeadlineSeconds: 300,
    template: { metadata: { annotations: { 'mx/revision': 'r1' } } },
  })
})

t.test('labels all objects and annotates the key', async (t) => {
  for (const { metadata } of [
    toDeployment(WORKLOAD, OPTIONS),
    toService(WORKLOAD),
    toSecret(WORKLOAD),
  ])
    t.match(metadata, {
      labels: {
        'app.kubernetes.io/managed-by': 'mx',
        'app.kubernetes.io/name': 'shop',
        'app.kubernetes.io/version': 'v1',
        'mx/workload': /^mx-shop-v1-/,
      },
      annotations: { 'mx/key': '{"namespace":"mx","name":"shop","version":"v1"}' },
    })
})

t.test('stores secret variables in the Secret only', async (t) => {
  const env = { MX_PROFILE: 'service', MX_AUTH_SECRET: 's3cret', PASSWORD: 'pass' }
  const workload = { ...WORKLOAD, env }
  t.same(toSecret(workload).data, {
    MX_AUTH_SECRET: Buffer.from('s3cret').toString('base64'),
    PASSWORD: Buffer.from('pass').toString('base64'),
  })
  const json = JSON.stringify([toDeployment(workload, OPTIONS), toService(workload)])
  t.notMatch(json, /s3cret|"pass"/)
  const { name } = toSecret(workload).metadata!
  t.match(
    toContainer({ env }).env!.find((variable) => variable.name === 'PASSWORD'),
    { valueFrom: { secretKeyRef: { name, key: 'PASSWORD' } } },
  )
})

t.test('sets the instance id from the pod name', async (t) => {
  const env = { MX_INSTANCE: 'mine', MX_SERVICE_ADDRESS: ':1', PORT: '2' }
  const names = toContainer({ env }).env!.map(({ name }) => name)
  t.equal(new Set(names).size, names.length, 'no duplicate names, which Kubernetes rejects')
  t.equal(toSecret({ ...WORKLOAD, env }).data!['MX_INSTANCE'], undefined)
})

t.test('escapes dollar signs', async (t) => {
  const { command, args, env } = toContainer({ env: { MX_PROXY: '$(X)' } })
  t.same([command, args], [['serve', '$$(HOME)'], ['$$$$']])
  t.match(env!.at(-1), { name: 'MX_PROXY', value: '$$(X)' })
})

t.test('uses the configured port, by default 8080', async (t) => {
  const getPort = (changes: Partial<Workload>): [number, unknown] => {
    const { ports, env } = toContainer(changes)
    const variable = env!.find(({ name }) => /^(?:PORT|MX_SERVICE_ADDRESS)$/.test(name))
    const port = toService({ ...WORKLOAD, ...changes }).spec!.ports![0]!.port
    t.equal(port, ports![0]!.containerPort)
    return [port, variable?.value]
  }
  t.same(getPort({}), [8080, ':8080'])
  t.same(getPort({ protocol: 'http' }), [8080, '8080'])
  t.same(getPort({ protocol: 'http', port: 80 }), [80, '80'])
  t.same(getPort({ env: { MX_SERVICE_ADDRESS: '0.0.0.0:9000' } }), [9000, undefined])
  t.same(getPort({ protocol: 'http', env: { PORT: '3000' } }), [3000, undefined])
  for (const text of ['', 'a', ':0', ':65536', '1.5'])
    t.throws(() => toContainer({ env: { MX_SERVICE_ADDRESS: text } }), {
      name: 'TypeError',
      message: `MX_SERVICE_ADDRESS must end with a port from 1 to 65535, got "${text}"`,
    })
})

t.test('sets requests and limits from the resources', async (t) => {
  const limits = { memory: '134217728', cpu: '250m' }
  t.same(toContainer({}).resources, { requests: limits, limits })
  t.same(toContainer({ resources: {} }).resources, { requests: {}, limits: {} })
})

t.test('uses the default requests without limits', async (t) => {
  const requests = { memoryBytes: 64 * 1024 ** 2, cpus: 0.1 }
  const listResources = (resources: Workload['resources']) =>
    toDeployment({ ...WORKLOAD, resources }, { ...OPTIONS, requests }).spec!.template.spec!
      .containers[0]!.resources
  t.same(listResources({}), { requests: { memory: '67108864', cpu: '100m' }, limits: {} })
  t.same(listResources({ cpus: 0.05 }), {
    requests: { memory: '67108864', cpu: '50m' },
    limits: { cpu: '50m' },
  })
})

t.test('makes only /tmp writable unless the root file system is', async (t) => {
  const toPod = (isRootReadOnly: boolean) =>
    toDeployment(WORKLOAD, { ...OPTIONS, isRootReadOnly }).spec!.template.spec!
  t.match(toPod(true), {
    volumes: [{ name: 'tmp', emptyDir: {} }],
    containers: [
      {
        securityContext: { readOnlyRootFilesystem: true },
        volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
      },
    ],
  })
  t.notMatch(JSON.stringify(toPod(false)), /readOnlyRootFilesystem|volume/)
})

t.test('restricts pods, and allows root with baseline', async (t) => {
  const toPod = (podSecurity: 'restricted' | 'baseline') =>
    toDeployment(WORKLOAD, { ...OPTIONS, podSecurity }).spec!.template.spec!
  t.match(toPod('restricted'), {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      { securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } },
    ],
  })
  const { securityContext, containers } = toPod('baseline')
  t.same(securityContext, { seccompProfile: { type: 'RuntimeDefault' } })
  t.same(containers[0]!.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
  })
})

t.test('probes the port with a startup limit of one minute', async (t) => {
  t.match(toContainer({}), {
    startupProbe: { tcpSocket: { port: 'main' }, periodSeconds: 1, failureThreshold: 60 },
    readinessProbe: { tcpSocket: { port: 'main' } },
    lifecycle: { preStop: { sleep: { seconds: 3 } } },
    terminationMessagePolicy: 'FallbackToLogsOnError',
  })
})
