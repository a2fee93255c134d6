import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import * as client from '@kubernetes/client-node'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { parseConfig } from '../../platform/config-file.ts'
import { mergeSettings } from '../../platform/settings-sources.ts'
import { readVersion } from '../../platform/version.ts'
import { ROOT } from '../../scripts/root.ts'

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly [field: string]: unknown
}
type Model = { getAttributeTypeMap: () => readonly { baseName: string; type: string }[] }

const FOLDER = join(ROOT, 'deploy/kubernetes')
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')
const kustomization = parse(read('kustomization.yaml'))
const manifests: readonly Manifest[] = kustomization.resources.flatMap((name: string) =>
  parseAllDocuments(read(name)).map((document) => document.toJS()),
)
const { settings } = parseConfig(read('mx.yaml'), 'mx.yaml')
const mx = mergeSettings(settings)
const deployment = find('Deployment') as unknown as client.V1Deployment
const pod = deployment.spec!.template
const container = pod.spec!.containers[0]!

function find(kind: string): Manifest {
  return manifests.find((manifest) => manifest.kind === kind)!
}

/** Why a manifest is none by the JSON schema of its kind, or has a field its kind does not know. */
function listProblems(manifest: Manifest): readonly string[] {
  const { apiVersion, kind } = manifest
  const { [kind]: Kind } = createRequire(import.meta.url)(`kubernetes-models/${apiVersion}/${kind}`)
  const version = apiVersion.split('/').at(-1)!
  const unknown = listUnknown(
    manifest,
    `${version[0]!.toUpperCase()}${version.slice(1)}${kind}`,
    kind,
  )
  try {
    new Kind(manifest).validate()
    return unknown
  } catch (error) {
    return [...unknown, (error as Error).message]
  }
}

/** Fields that are not those of a type; schemas of Kubernetes let them pass, and its API server drops them. */
function listUnknown(value: unknown, type: string, path: string): readonly string[] {
  const [, inner] = /^Array<(.+)>$/.exec(type) ?? []
  if (inner !== undefined)
    return (value as unknown[]).flatMap((each, i) => listUnknown(each, inner, `${path}[${i}]`))
  const model = (client as unknown as Record<string, Model | undefined>)[type]
  if (model === undefined) return []
  const types = new Map(model.getAttributeTypeMap().map(({ baseName, type }) => [baseName, type]))
  return Object.entries(value as object).flatMap(([name, field]) => {
    const known = types.get(name)
    return known === undefined
      ? [`${path}.${name} is unknown`]
      : listUnknown(field, known, `${path}.${name}`)
  })
}

for (const manifest of manifests) {
  const { name } = manifest['metadata'] as { name: string }
  t.test(`${manifest.kind} ${name} is one by the schema of Kubernetes`, async (t) => {
    t.same(listProblems(manifest), [])
  })
}

t.test('what is no manifest is found out', async (t) => {
  const wrong = structuredClone(find('Deployment')) as unknown as client.V1Deployment
  const [first] = wrong.spec!.template.spec!.containers
  Object.assign(first!, { imagee: 'x', ports: [{ name: 'http' }] })
  const problems = listProblems(wrong as unknown as Manifest).join('\n')
  t.match(problems, 'Deployment.spec.template.spec.containers[0].imagee is unknown')
  t.match(problems, "must have required property 'containerPort'".replaceAll("'", ''))
})

t.test('the pod has nothing that the Pod Security Standard restricted forbids', async (t) => {
  t.match(pod.spec!.securityContext, {
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  })
  t.same(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  const writable = pod.spec!.volumes!.filter(({ emptyDir }) => emptyDir !== undefined)
  t.same(
    writable.map(
      ({ name }) => container.volumeMounts!.find((mount) => mount.name === name)?.mountPath,
    ),
    ['/data', '/tmp'],
  )
})

t.test('ports and probes are those of the configuration, and there is time to drain', async (t) => {
  const ports = Object.fromEntries(
    container.ports!.map(({ name, containerPort }) => [name, containerPort]),
  )
  t.same(ports, { http: mx.address.port, admin: mx.adminAddress!.port })
  t.equal(container.livenessProbe!.httpGet!.path, '/livez')
  t.equal(container.readinessProbe!.httpGet!.path, '/readyz')
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const)
    t.equal(container[probe]!.httpGet!.port, 'admin')
  const seconds = (mx.drainDelayMs + mx.drainTimeoutMs) / 1000
  t.ok(pod.spec!.terminationGracePeriodSeconds! > seconds, `longer than ${seconds} s`)
  const { periodSeconds, failureThreshold, timeoutSeconds } = container.readinessProbe!
  t.ok(
    periodSeconds! * failureThreshold! + timeoutSeconds! < mx.drainDelayMs / 1000,
    'it is left out before it closes',
  )
})

t.test('the Service has no admin port, and everything selects the pods there are', async (t) => {
  const { spec } = find('Service') as unknown as client.V1Service
  t.same(
    spec!.ports!.map(({ targetPort }) => targetPort),
    ['http'],
  )
  const labels = pod.metadata!.labels
  t.same(spec!.selector, labels)
  for (const [kind, field] of [
    ['Deployment', 'selector'],
    ['PodDisruptionBudget', 'selector'],
    ['NetworkPolicy', 'podSelector'],
  ] as const) {
    const { [field]: selector } = find(kind)['spec'] as Record<string, client.V1LabelSelector>
    t.same(selector!.matchLabels, labels, kind)
  }
})

t.test('the image is of this version', async (t) => {
  t.same(kustomization.images, [{ name: container.image, newTag: readVersion() }])
})
