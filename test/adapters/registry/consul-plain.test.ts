import t from 'tap'
import { startConsul } from '../../fixtures/consul.ts'
import { openConsulRegistry, untilNodes } from '../../fixtures/consul-registry.ts'

const agent = await startConsul(t)
if (agent !== undefined) {
  const put = (entry: object): Promise<unknown> =>
    agent.call('PUT', '/agent/service/register', entry)
  const remove = (id: string): Promise<unknown> =>
    agent.call('PUT', `/agent/service/deregister/${id}`)

  t.test('lists plain services with address, weight, tags and routes', async (t) => {
    const warnings: string[] = []
    const registry = openConsulRegistry(t, agent, {
      onWarning: (message) => warnings.push(message),
    })
    await put({ Name: 'web', Port: 8080, Meta: { zone: 'a', protocol: 'grpc' } })
    await put({
      Name: 'shop',
      ID: 'shop-1',
      Address: '10.0.0.7',
      Port: 8443,
      Weights: { Passing: 10, Warning: 1 },
      Tags: [
        'blue',
        'mx.protocol=https',
        'mx.path=/orders/*',
        'mx.path=/cart',
        'mx.host=a.example',
      ],
    })
    await put({ Name: 'no name/at all', ID: 'odd', Port: 1 })
    await untilNodes(registry, 'shop', ['shop-1@test'])
    await untilNodes(registry, 'web', ['web@test'])
    const [web] = await registry.getService('web')
    t.same(web?.nodes, [{ id: 'web@test', address: '127.0.0.1:8080', metadata: { zone: 'a' } }])
    const [shop] = await registry.getService('shop')
    t.same(shop?.nodes[0]?.metadata, { protocol: 'https', weight: '10', tags: 'blue' })
    t.equal(shop?.nodes[0]?.address, '10.0.0.7:8443')
    const metadata = { handler: 'proxy', path: '/orders/*,/cart', host: 'a.example' }
    t.match(shop?.endpoints, [{ name: 'Http.Any', metadata }])
    const listed = await registry.listServices()
    t.same(listed.map(({ name }) => name).sort(), ['shop', 'web'])
    t.match(
      listed.find(({ name }) => name === 'shop'),
      { endpoints: [{ metadata: { ...metadata, path: '/cart,/orders/*' } }] },
    )
    await registry.listServices()
    t.equal(warnings.length, 1)
    t.match(warnings[0], /service "no name\/at all" is ignored: service name must be/)
    for (const id of ['web', 'shop-1', 'odd']) await remove(id)
  })

  t.test('ignores hostile entries with a warning', async (t) => {
    const warnings: string[] = []
    const registry = openConsulRegistry(t, agent, {
      onWarning: (message) => warnings.push(message),
    })
    const bad = [
      { ID: 'a', Address: 'not an address', Port: 1 },
      { ID: 'b', Address: '10.0.0.256', Port: 1 },
      { ID: 'c', Address: '127.0.0.1' },
      { ID: 'd', Address: '127.0.0.1', Port: 1, Tags: ['mx', 'mx.version=a b'] },
    ]
    for (const entry of bad) await put({ Name: 'evil', ...entry })
    await put({
      Name: 'evil',
      ID: 'evil-ok',
      Port: 9,
      Meta: { ['__proto__']: 'polluted' },
      Tags: [
        'mx',
        'mx.version=latest',
        'mx.endpoint={',
        'mx.endpoint=[]',
        'mx.endpoint={"name":7}',
        `mx.endpoint={"name":"Big","x":"${'x'.repeat(70_000)}"}`,
        'mx.endpoint={"name":"A.B","metadata":{"__proto__":"x","path":"/x"}}',
        'mx.metadata={"values":{"__proto__":{"polluted":true}}}',
        `mx.endpoint={"name":"Deep.Deep","request":${'{"values":['.repeat(100)}${']}'.repeat(100)}}`,
      ],
    })
    await untilNodes(registry, 'evil', ['evil-ok'])
    const [evil] = await registry.getService('evil')
    t.same(evil?.nodes[0]?.metadata, {})
    t.same(evil?.metadata, {})
    t.same(
      evil?.endpoints.map(({ name, metadata }) => [name, metadata]),
      [
        ['A.B', { path: '/x' }],
        ['Deep.Deep', {}],
      ],
    )
    t.equal(({} as Record<string, unknown>)['polluted'], undefined)
    await registry.listServices()
    const output = warnings.join('\n')
    for (const reason of [
      /"a" of evil: ignored: address of node .* got "not an address:1"/,
      /"b" of evil: ignored: .*10\.0\.0\.256:1/,
      /"c" of evil: ignored: .*127\.0\.0\.1:0/,
      /"d" of evil: ignored: version must be/,
      /the tag "mx\.endpoint=\{" is ignored/,
      /a tag of 70\d+ characters is ignored/,
      /service evil: the tag/,
    ])
      t.match(output, reason)
    for (const { ID } of [...bad, { ID: 'evil-ok' }]) await remove(ID)
  })
}
