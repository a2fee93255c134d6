import t from 'tap'
import {
  type CatalogOptions,
  type CatalogReader,
  createCatalogReader,
} from '../../../../adapters/registry/consul/read-catalog.ts'
import type { Service } from '../../../../core/contracts/registry.ts'
import { makeService } from '../../../fixtures/services.ts'

/** Reads Consul catalogs, each newer than the previous one. */
function createReader(
  options: CatalogOptions,
): (catalog: unknown, index?: number) => ReturnType<CatalogReader['read']> {
  return toRead(createCatalogReader(options))
}

function toRead({
  read,
}: CatalogReader): (catalog: unknown, index?: number) => ReturnType<CatalogReader['read']> {
  let last = 0
  return (catalog, index = last + 1) => {
    last = index
    return read({ chunks: [Buffer.from(JSON.stringify(catalog))], index: String(index), era: 0 })
  }
}

function create(domain = 'mx'): {
  read: (catalog: unknown) => Promise<string[]>
  warnings: string[]
} {
  const warnings: string[] = []
  const reader = createReader({ domain, warn: (reason) => warnings.push(reason) })
  return {
    warnings,
    read: async (catalog) =>
      (await reader(catalog)).map(({ name, version, endpoints }) =>
        `${name} ${version} ${endpoints.map((endpoint) => endpoint.name)}`.trim(),
      ),
  }
}

t.test('reads the versions of all services from their tags', async (t) => {
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

t.test('lists a service in each of its domains with its versions', async (t) => {
  const catalog = {
    both: ['mx', 'mx.version=latest', 'mx.domain=shop', 'mx.version@shop=7'],
    shop: ['mx', 'mx.domain=shop', 'mx.version@shop=8'],
    plain: ['mx.domain=shop'],
  }
  t.same(await create().read(catalog), ['both latest'])
  t.same(await create('shop').read(catalog), ['both 7', 'shop 8', 'plain latest'])
})

t.test('reports all domains when they may have changed', async (t) => {
  const events: string[][] = []
  const read = createReader({
    domain: 'mx',
    warn: () => {},
    onDomains: (domains) => void events.push([...domains].sort()),
  })
  const bothDomains = ['mx', 'mx.version=latest', 'mx.domain=shop', 'mx.domain=staging']
  for (const catalog of [
    { bothDomains },
    { bothDomains },
    { bothDomains, plain: ['mx.domain=test'] },
    { web: [] },
  ])
    await read(catalog)
  t.same(events, [['shop', 'staging'], ['shop', 'staging', 'test'], []])
})

t.test('reports services with changed tags', async (t) => {
  let events: string[] = []
  const read = createReader({
    domain: 'mx',
    warn: () => {},
    onChanged: (name) => events.push(name),
  })
  const readNames = async (catalog: object): Promise<string[]> => {
    events = []
    await read(catalog)
    return events
  }
  const [a, b] = [
    ['mx', 'mx.version=latest', 'mx.revision=1'],
    ['mx', 'mx.version=latest', 'mx.revision=2'],
  ]
  t.same(await readNames({ a, b }), ['a', 'b'])
  t.same(await readNames({ a, b }), [])
  const before = await read({ a, b })
  t.same(await readNames({ a, b: [...b, 'mx.revision=3'] }), ['b'], 'an additional node')
  t.equal(await read({ a, b }), before, 'no description changed')
  t.same(await readNames({ a: [...a, 'x'], b }), ['a'])
  t.same(await readNames({ b }), ['a'], 'the service was removed')
})

t.test('ignores invalid names, __proto__ among them', async (t) => {
  const { read, warnings } = create()
  t.same(await read(JSON.parse('{"__proto__": [], "a b": [], "ok": null, "constructor": 7}')), [
    'ok latest',
    'constructor latest',
  ])
  t.equal(warnings.length, 2)
  for (const catalog of [[], null, 7]) await t.rejects(read(catalog), { name: 'SyntaxError' })
})

t.test('warns about a catalog that does not contain Consul itself', async (t) => {
  const { read, warnings } = create()
  await read({ consul: [] })
  await read({ web: [] })
  t.same(warnings, [])
  t.same(await read({}), [])
  t.match(warnings, [
    /^Consul lists no services, not even itself.*lacks service:read and node:read$/,
  ])
})

t.test('parses tags again after a change', async (t) => {
  const reader = createReader({ domain: 'mx', warn: () => {} })
  const read = (tag: string) => reader({ a: [tag], b: ['x'] })
  const [before, after] = [await read('mx.path=/a'), await read('mx.path=/b')]
  t.equal(before[1], after[1])
  t.match(after[0]?.endpoints[0]?.metadata, { path: '/b' })
})

t.test('ignores the order of tags', async (t) => {
  const reader = createReader({ domain: 'mx', warn: () => {} })
  const tags = ['mx.path=/a', 'mx.path=/b', 'mx.host=x', 'blue']
  const read = (list: readonly string[]) => reader({ web: list })
  t.equal(await read(tags), await read(tags.toReversed()), 'the same list')
})

t.test('reads concurrent responses independently', async (t) => {
  const reader = createReader({ domain: 'mx', warn: () => {} })
  const read = async (catalog: object) => (await reader(catalog)).map(({ name }) => name)
  // Long enough to be read in several ticks.
  const long = { a: ['x'.repeat(16_000_000)], b: [] }
  await read(long)
  const slow = read(long)
  t.same(await read({ c: [], b: [] }), ['c', 'b'])
  t.same(await slow, ['a', 'b'])
})

t.test('uses `latest` as the version of a plain service', async (t) => {
  const { read } = create()
  t.same(await read({ shop: ['mx.path=/x', 'mx.version=2'], plain: ['mx.version='] }), [
    'shop latest Http.Any',
    'plain latest',
  ])
})

t.test('adds a service until the catalog lists it', async (t) => {
  const events: string[] = []
  const reader = createCatalogReader({
    domain: 'mx',
    warn: () => {},
    onChanged: (name) => events.push(name),
  })
  const read = toRead(reader)
  const names = (services: readonly Service[] | undefined): string[] | undefined =>
    services?.map(({ name }) => name)
  const late = makeService('late', ['127.0.0.1:1'])
  await read({ a: [] }, 10)
  const added = reader.addUncataloged('late', [late], { index: '12', era: 0 })
  t.same(names(added), ['a', 'late'])
  t.same(added?.[1], { ...late, nodes: [] })
  t.equal(reader.addUncataloged('late', [late], { index: '12', era: 0 }), undefined, 'added once')
  t.ok(reader.has('late'))
  t.equal(await read({ a: [] }, 11), added, 'the catalog contains an earlier state')
  t.same(
    names(await read({ a: [], late: ['x', 'y'] }, 12)),
    ['a', 'late'],
    'the catalog lists it now',
  )
  reader.addUncataloged('later', [makeService('later', [])], { index: '14', era: 0 })
  events.length = 0
  t.same(names(await read({ a: [] }, 14)), ['a'], 'the service was removed before the query')
  t.same(events.sort(), ['late', 'later'])
})

t.test('drops added services with the next catalog after Consul was lost', async (t) => {
  const reader = createCatalogReader({ domain: 'mx', warn: () => {} })
  reader.addUncataloged('late', [makeService('late', [])], { index: '12', era: 0 })
  t.same(await reader.read({ chunks: [Buffer.from('{}')], index: '3', era: 1 }), [])
})
