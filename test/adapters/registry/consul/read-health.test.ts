import t from 'tap'
import { readHealth } from '../../../../adapters/registry/consul/read-health.ts'
import { toRegistration } from '../../../../adapters/registry/consul/registration.ts'
import type { Endpoint, Service } from '../../../../core/contracts/registry.ts'

const warnings: string[] = []
function read(rows: unknown, domain = 'mx'): Service[] {
  warnings.length = 0
  const body = Buffer.from(typeof rows === 'string' ? rows : JSON.stringify(rows))
  return readHealth(body, 'web', { domain, warn: (reason) => warnings.push(reason) })
}

function row(service: object, node: object = { Node: 'n1', Address: '10.0.0.1' }): object {
  return { Node: node, Service: { ID: 'web', Service: 'web', Port: 80, ...service } }
}

t.test('merges instances by version with the latest description', async (t) => {
  const mx = (ID: string, ModifyIndex: number, tags: string[]): object =>
    row({ ID: `web:${ID}`, ModifyIndex, Tags: ['mx', ...tags] })
  const services = read([
    mx('b', 9, ['mx.version=latest', 'mx.endpoint={"name":"New.New"}']),
    mx('a', 3, ['mx.version=latest', 'mx.endpoint={"name":"Old.Old"}']),
    mx('c', 4, ['mx.version=next']),
  ])
  t.same(
    services.map(({ version, nodes }) => [version, nodes.map(({ id }) => id)]),
    [
      ['latest', ['a', 'b']],
      ['next', ['c']],
    ],
  )
  t.match(services[0]?.endpoints, [{ name: 'New.New' }])
})

t.test('merges instances with the same id on several agents into the latest node', async (t) => {
  const at = (Address: string, ModifyIndex: number): object =>
    row({ ID: 'web-1', Address, ModifyIndex, Tags: ['mx'] })
  t.match(read([at('10.0.0.2', 8), at('10.0.0.1', 7)])[0]?.nodes, [{ address: '10.0.0.2:80' }])
})

t.test('separates plain instances with the same id on several agents', async (t) => {
  const [service] = read([row({}), row({}, { Node: 'n2', Address: 'fd00::1' })])
  t.same(service?.nodes, [
    { id: 'web@n1', address: '10.0.0.1:80', metadata: {} },
    { id: 'web@n2', address: '[fd00::1]:80', metadata: {} },
  ])
})

t.test('reads the protocol of a plain service from its tag or mx-protocol in Meta', async (t) => {
  const getMetadata = (service: object): unknown => read([row(service)])[0]?.nodes[0]?.metadata
  t.same(getMetadata({ Tags: ['mx.protocol=https'] }), { protocol: 'https' })
  t.match(getMetadata({ Meta: { 'mx-protocol': 'https' } }), { protocol: 'https' })
  t.same(getMetadata({ Meta: { protocol: 'tcp', weight: 'x', state: 'draining', a: 'b' } }), {
    a: 'b',
  })
  t.same(getMetadata({ Weights: { Passing: 65_535 } }), { weight: '1000' })
  t.same(getMetadata({ Weights: { Passing: -1 } }), {})
})

t.test('ignores mesh proxies and other domains', async (t) => {
  t.same(read([row({ Kind: 'connect-proxy' })]), [])
  t.same(read([row({ Tags: ['mx', 'mx.domain=shop', 'mx.version@shop=latest'] })]), [])
  t.equal(
    read([row({ Tags: ['mx', 'mx.domain=shop', 'mx.version@shop=1'] })], 'shop')[0]?.version,
    '1',
  )
  t.same(warnings, [])
})

t.test('ignores malformed rows and throws for a malformed response', async (t) => {
  t.same(read([null, 7, {}, { Service: [] }, { Service: {}, Node: 'x' }]), [])
  t.equal(warnings.length, 5)
  t.same(read([row({ Port: '80' }), row({ Address: {} }, { Node: 'n', Address: 7 })]), [])
  t.match(warnings, [/got "10.0.0.1:0"/, /got ":80"/])
  t.same(read([row({ Tags: 7, Meta: 'x', Weights: [] })])[0]?.nodes.length, 1)
  for (const body of ['', '{', '{}', 'null', '7'])
    t.throws(() => read(body), { name: 'SyntaxError' })
})

t.test('reads the tags of each instance separately', async (t) => {
  const node = (ID: string, Tags: string[] | null): object =>
    row({ ID: `web:${ID}`, ModifyIndex: 1, Tags })
  const [latest] = read([
    node('a', ['mx', 'mx.node={"zone":"x"}']),
    node('b', ['mx', 'mx.node={"zone":"x"}']),
    node('c', ['mx', 'mx.node={"zone":"y"}']),
    node('d', ['mx']),
    node('e', null),
    node('f', ['mx', 'mx.node={']),
    node('g', ['mx', 'mx.node={']),
  ])
  t.same(
    latest?.nodes.map(({ id, metadata }) => [id, metadata['zone']]),
    [
      ['a', 'x'],
      ['b', 'x'],
      ['c', 'y'],
      ['d', undefined],
      ['f', undefined],
      ['g', undefined],
      ['web:e@n1', undefined],
    ],
  )
  t.match(warnings, [/"web:f" of web: the tag "mx.node=\{" is ignored/, /"web:g" of web/])
})

t.test('ignores a name that differs in letter case', async (t) => {
  t.same(read([row({ Service: 'WEB' }), row({ Service: 'Web' }), row({ Service: undefined })]), [])
  t.same(warnings, [])
})

t.test('returns a version that has no passing nodes', async (t) => {
  const checked = (ID: string, ...states: string[]): object => ({
    ...row({ ID }),
    Checks: states.map((Status) => ({ Status })),
  })
  t.match(read([checked('web', 'passing', 'critical')]), [{ name: 'web', nodes: [] }])
  t.match(read([checked('web', 'warning')])[0]?.nodes.length, 0)
  t.match(
    read([checked('a', 'passing', 'passing'), checked('b', 'critical')])[0]?.nodes.map(
      ({ id }) => id,
    ),
    ['a@n1'],
  )
})

t.test('reuses equal endpoints', async (t) => {
  const NO_VALUE = { name: '', type: '', values: [] }
  const endpoint = (name: string, path: string): Endpoint => ({
    name,
    request: NO_VALUE,
    response: { name: 'R', type: 'R', values: [NO_VALUE] },
    metadata: { path },
  })
  const versions = ['latest', '2'].map((version) => {
    const node = { id: version, address: '10.0.0.1:80', metadata: {} }
    const endpoints = [endpoint('A.B', `/${version}`), endpoint('A.C', '/c')]
    return { name: 'web', version, metadata: {}, endpoints, nodes: [node] }
  })
  const rows = versions.map((service) => {
    const { tags } = toRegistration(service, service.nodes[0]!, 'mx', 0)
    return row({ ID: service.version, Tags: tags })
  })
  const body = Buffer.from(JSON.stringify(rows))
  const options = { domain: 'mx', warn: () => t.fail('no warning expected') }
  const known = readHealth(body, 'web', options)
  const repeated = readHealth(body, 'web', options, known)
  t.same(repeated, known)
  t.equal(repeated.length, 2)
  for (const [i, { endpoints }] of repeated.entries())
    for (const [k, endpoint] of endpoints.entries())
      t.equal(endpoint, known[i]!.endpoints[k], `${i} ${k}`)
  const other = known.map((service) => ({ ...service, endpoints: [endpoint('A.B', '/other')] }))
  t.same(readHealth(body, 'web', options, other), known, 'a replaced instance is parsed again')
})
