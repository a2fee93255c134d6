import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { V1Deployment, V1RoleBinding } from '@kubernetes/client-node'
import t from 'tap'
import { parse } from 'yaml'
import { readVersion } from '../../platform/process/version.ts'
import { ROOT } from '../../scripts/root.ts'
import { listProblems, type Manifest, parseManifests } from '../fixtures/manifests.ts'
import {
  checkRelease,
  find,
  MANIFESTS,
  readKustomization,
  readSettings,
  toPod,
  toRelease,
} from '../fixtures/releases.ts'

const read = (name: string): string => readFileSync(join(MANIFESTS, name), 'utf8')
const gateway = readKustomization()
const embedded = toRelease(read('server-embedded.yaml'))
const external = toRelease(read('server-external.yaml'))
const servers = { embedded, external }

/** Rules of a Role in a page of the documentation. */
function readDocumentedRules(page: string, name: string): unknown {
  const text = readFileSync(join(ROOT, 'docs', page), 'utf8')
  const blocks = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block]) => block!)
  const block = blocks.find((block) => block.includes(`name: ${name}`))!
  return parseManifests(block)[0]!['rules']
}

t.test('the manifests of the gateway', (t) => checkRelease(t, gateway))
for (const [name, release] of Object.entries(servers))
  t.test(`the manifests of mx server with ${name} storage`, (t) => checkRelease(t, release))

t.test('detects an unknown and a missing field of a manifest', async (t) => {
  const breakPod = (container: object): Manifest => {
    const invalid = structuredClone(find(gateway.manifests, 'Deployment'))!
    const { spec } = (invalid as unknown as V1Deployment).spec!.template
    Object.assign(spec!.containers[0]!, container)
    return invalid
  }
  const unknown = breakPod({ imagee: 'x' })
  const incomplete = breakPod({ ports: [{ name: 'http' }] })
  const problems = (await listProblems(t, [unknown, incomplete])).join('\n')
  t.match(problems, /imagee.* does not exist in type 'V1Container'/)
  t.match(problems, /containerPort.* is missing in type/)
})

t.test('image tags match this version', async (t) => {
  const { image } = toPod(gateway).spec!.containers[0]!
  t.same(gateway.images, [{ name: image, newTag: readVersion() }])
  for (const release of Object.values(servers))
    t.equal(toPod(release).spec!.containers[0]!.image, `${image}:${readVersion()}`)
})

t.test('embedded storage uses a volume, external storage a Secret', async (t) => {
  t.match(await readSettings(t, embedded), {
    ...{ registry: 'kubernetes', runtime: 'kubernetes' },
    ...{ store: 'lmdb', broker: 'memory', events: 'lmdb', configSecretKey: 'file' },
  })
  const { spec } = find(embedded.manifests, 'StatefulSet') as unknown as {
    spec: { replicas: number; volumeClaimTemplates: readonly { metadata: { name: string } }[] }
  }
  t.equal(spec.replicas, 1)
  t.equal(spec.volumeClaimTemplates[0]!.metadata.name, 'data')
  const container = toPod(external).spec!.containers[0]!
  t.same(container.envFrom, [{ secretRef: { name: 'mx-server' } }])
  t.match(await readSettings(t, external), { registry: 'kubernetes', runtime: 'kubernetes' })
  for (const release of Object.values(servers)) {
    const { advertiseAddress, proxyAddress } = await readSettings(t, release)
    const host = 'mx-server-internal.mx.svc'
    t.same(advertiseAddress, { host, port: proxyAddress.port }, 'services reach it after a restart')
  }
})

t.test(
  'roles match the documentation and are bound to the service account of the pods',
  async (t) => {
    const rules = {
      registry: readDocumentedRules('kubernetes-registry.md', 'mx-registry'),
      runtime: readDocumentedRules('kubernetes.md', 'mx-runtime'),
    }
    const files = {
      gateway: gateway.manifests,
      embedded: embedded.manifests,
      external: external.manifests,
      further: parseManifests(read('runtime-access.yaml')),
    }
    for (const [name, manifests] of Object.entries(files)) {
      const roles = manifests.filter(({ kind }) => kind === 'Role')
      for (const role of roles) {
        const description = role.metadata.name!.endsWith('registry') ? 'registry' : 'runtime'
        t.same(role['rules'], rules[description], `${name}: ${description}`)
        const binding = manifests.find(
          ({ kind, metadata }) => kind === 'RoleBinding' && metadata.name === role.metadata.name,
        ) as unknown as V1RoleBinding
        t.same(await listProblems(t, [binding as unknown as Manifest]), [])
        t.equal(binding.roleRef.name, role.metadata.name)
        const account = name === 'gateway' ? toPod(gateway) : toPod(embedded)
        t.equal(binding.subjects![0]!.name, account.spec!.serviceAccountName)
      }
      t.equal(roles.length, { gateway: 1, embedded: 2, external: 2, further: 1 }[name])
    }
  },
)

t.test('the chart has this version, and its schema lists every value', async (t) => {
  const chart = join(ROOT, 'deploy/helm/mx')
  const { version, appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))
  t.same([version, appVersion], [readVersion(), readVersion()])
  const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'))
  const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'))
  t.same(Object.keys(schema.properties).sort(), [...Object.keys(values), 'global'].sort())
  for (const [name, value] of Object.entries<object>(values)) {
    const { properties, additionalProperties } = schema.properties[name]
    if (additionalProperties === false)
      t.same(Object.keys(properties).sort(), Object.keys(value).sort(), name)
  }
})
