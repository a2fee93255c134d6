import t from 'tap'
import { type RunningService, toServiceEntry } from '../../../sdk/service/registry-entry.ts'

const RUNNING: RunningService = {
  name: 'greeter',
  version: 'latest',
  metadata: { owner: 'ann' },
  endpoints: [],
  address: '127.0.0.1:9001',
  server: 'uws',
  registry: 'memory',
  broker: '',
  instance: '',
}

t.test('a registry entry has address, protocol, server and registry of the service', (t) => {
  const { nodes, ...service } = toServiceEntry(RUNNING)
  t.strictSame(service, {
    name: 'greeter',
    version: 'latest',
    metadata: { owner: 'ann' },
    endpoints: [],
  })
  t.equal(nodes.length, 1)
  const { id, ...node } = nodes[0]!
  t.match(id, /^greeter-[0-9a-f-]{36}$/)
  t.strictSame(node, {
    address: '127.0.0.1:9001',
    metadata: { protocol: 'mx', transport: 'http', server: 'uws', registry: 'memory' },
  })
  t.match(toServiceEntry({ ...RUNNING, broker: 'nats' }).nodes, [{ metadata: { broker: 'nats' } }])
  t.match(toServiceEntry({ ...RUNNING, instance: 'c0ffee' }).nodes, [
    { metadata: { instance: 'c0ffee' } },
  ])
  t.end()
})

t.test('node ids are unique and limited in length', (t) => {
  const name = 'a'.repeat(253)
  const [one, two] = [toServiceEntry({ ...RUNNING, name }), toServiceEntry({ ...RUNNING, name })]
  t.not(one.nodes[0]!.id, two.nodes[0]!.id)
  t.equal(one.nodes[0]!.id.length, 237)
  t.end()
})
