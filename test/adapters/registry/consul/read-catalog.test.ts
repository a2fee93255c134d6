import t from 'tap'
import { createCatalogReader } from '../../../../adapters/registry/consul/read-catalog.ts'

function create(domain = 'mx'): {
  read: (catalog: unknown) => Promise<string[]>
  warnings: string[]
} {
  const warnings: string[] = []
  const reader = createCatalogReader({ domain, warn: (reason) => warnings.push(reason) })
  return {
    warnings,
    read: async (catalog) =>
      (await reader(Buffer.from(JSON.stringify(catalog)))).map(({ name, version, endpoints }) =>
        `${name} ${version} ${endpoints.map((endpoint) => endpoint.name)}`.trim(),
      ),
  }
}

t.test('the versions of all services are those of their tags', async (t) => {
  const { read } = create()
  const orders = [
    'mx',
    'mx.version=latest',
    'mx.version=2',
    'mx.endpoint={"name":"A.B","version":"2"}',
  ]
  t.same(await read({ consul: [], web: [], shop: ['mx.path=/x'], orders }), [
    'web latest',
    'shop latest Http.Any',
    'orders 2 A.B',
    'orders latest',
  ])
})

t.test('a service of several domains is in each with its own versions', async (t) => {
  const catalog = {
    both: ['mx', 'mx.version=latest', 'mx.domain=shop', 'mx.version@shop=7'],
    shop: ['mx', 'mx.domain=shop', 'mx.version@shop=8'],
    plain: ['mx.domain=shop'],
  }
  t.same(await create().read(catalog), ['both latest'])
  t.same(await create('shop').read(catalog), ['both 7', 'shop 8', 'plain latest'])
})

t.test('the domains of all services are told when they may have changed', async (t) => {
  const told: string[][] = []
  const read = createCatalogReader({
    domain: 'mx',
    warn: () => {},
    onDomains: (domains) => void told.push([...domains].sort()),
  })
  const both = ['mx', 'mx.version=latest', 'mx.domain=shop', 'mx.domain=staging']
  for (const catalog of [{ both }, { both }, { both, plain: ['mx.domain=test'] }, { web: [] }])
    await read(Buffer.from(JSON.stringify(catalog)))
  t.same(told, [['shop', 'staging'], ['shop', 'staging', 'test'], []])
})

t.test(
  'services whose tags are other ones are told, whatever it is that has changed',
  async (t) => {
    let told: string[] = []
    const read = createCatalogReader({
      domain: 'mx',
      warn: () => {},
      onChanged: (name) => told.push(name),
    })
    const take = async (catalog: object): Promise<string[]> => {
      told = []
      await read(Buffer.from(JSON.stringify(catalog)))
      return told
    }
    const [a, b] = [
      ['mx', 'mx.version=latest', 'mx.revision=1'],
      ['mx', 'mx.version=latest', 'mx.revision=2'],
    ]
    t.same(await take({ a, b }), ['a', 'b'])
    t.same(await take({ a, b }), [])
    const before = await read(Buffer.from(JSON.stringify({ a, b })))
    t.same(await take({ a, b: [...b, 'mx.revision=3'] }), ['b'], 'a node more')
    t.equal(
      await read(Buffer.from(JSON.stringify({ a, b }))),
      before,
      'none is described otherwise',
    )
    t.same(await take({ a: [...a, 'x'], b }), ['a'])
    t.same(await take({ b }), ['a'], 'it is gone')
  },
)

t.test('names that are none are left out, __proto__ among them', async (t) => {
  const { read, warnings } = create()
  t.same(await read(JSON.parse('{"__proto__": [], "a b": [], "ok": null, "constructor": 7}')), [
    'ok latest',
    'constructor latest',
  ])
  t.equal(warnings.length, 2)
  for (const catalog of [[], null, 7]) await t.rejects(read(catalog), { name: 'SyntaxError' })
})

t.test(
  'a catalog without anything, even Consul itself, is told: the token may see none',
  async (t) => {
    const { read, warnings } = create()
    await read({ consul: [] })
    await read({ web: [] })
    t.same(warnings, [])
    t.same(await read({}), [])
    t.match(warnings, [/^Consul lists no service, not even itself.*service:read and node:read$/])
  },
)

t.test('what a service says is read again when it says something else', async (t) => {
  const reader = createCatalogReader({ domain: 'mx', warn: () => {} })
  const read = (tag: string) => reader(Buffer.from(JSON.stringify({ a: [tag], b: ['x'] })))
  const [before, after] = [await read('mx.path=/a'), await read('mx.path=/b')]
  t.equal(before[1], after[1])
  t.match(after[0]?.endpoints[0]?.metadata, { path: '/b' })
})

t.test('the order of tags, another one each time, says nothing', async (t) => {
  const reader = createCatalogReader({ domain: 'mx', warn: () => {} })
  const tags = ['mx.path=/a', 'mx.path=/b', 'mx.host=x', 'blue']
  const read = (list: readonly string[]) => reader(Buffer.from(JSON.stringify({ web: list })))
  t.equal(await read(tags), await read(tags.toReversed()), 'the same list')
})

t.test('an answer says what is in it, whatever another one says meanwhile', async (t) => {
  const reader = createCatalogReader({ domain: 'mx', warn: () => {} })
  const read = async (catalog: object) =>
    (await reader(Buffer.from(JSON.stringify(catalog)))).map(({ name }) => name)
  // Long enough to be read in several turns.
  const long = { a: ['x'.repeat(16_000_000)], b: [] }
  await read(long)
  const slow = read(long)
  t.same(await read({ c: [], b: [] }), ['c', 'b'])
  t.same(await slow, ['a', 'b'])
})

t.test('the version of a plain service is latest, whatever its tags say', async (t) => {
  const { read } = create()
  t.same(await read({ shop: ['mx.path=/x', 'mx.version=2'], plain: ['mx.version='] }), [
    'shop latest Http.Any',
    'plain latest',
  ])
})
