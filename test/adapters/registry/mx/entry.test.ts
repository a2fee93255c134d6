import t from 'tap'
import { readEntries, readEntry, toEntry } from '../../../../adapters/registry/mx/entry.ts'
import type { Service, Value } from '../../../../core/contracts/registry.ts'
import { makeNode, makeService } from '../../../fixtures/services.ts'

const value: Value = { name: 'a', type: 'string', values: [] }
const SERVICE: Service = {
  ...makeService('greeter', [makeNode('[::1]:9001', { protocol: 'mx' })]),
  metadata: { owner: 'x' },
  endpoints: [
    { name: 'A.B', request: { ...value, values: [value] }, response: value, metadata: { a: 'b' } },
  ],
}

t.test('round-trips an entry of the specification', async (t) => {
  const entry = toEntry(SERVICE, { ttl: 90, domain: 'mx' })
  t.same(entry, {
    ...SERVICE,
    nodes: [
      { id: '[::1]:9001', address: '[::1]:9001', port: '9001', metadata: { protocol: 'mx' } },
    ],
    options: { ttl: 90, domain: 'mx' },
  })
  t.strictSame(readEntry(JSON.parse(JSON.stringify(entry)), 'mx'), SERVICE)
})

t.test('removes the requested domain from the metadata, but no other', async (t) => {
  const entry = { ...SERVICE, metadata: { domain: 'other' } }
  t.same(readEntry(entry, 'other')?.metadata, {})
  t.same(readEntry(entry, 'mx')?.metadata, { domain: 'other' })
})

t.test('ignores malformed entries', async (t) => {
  const invalid = [null, 1, 'a', [], {}, { name: 'a' }, { name: 1, version: 'a' }]
  t.same(readEntries({ services: invalid }, 'mx'), [])
  t.same(readEntries({ services: 'none' }, 'mx'), [])
  t.same(readEntries({}, 'mx'), [])
})

t.test('reads a valid service from any entry', async (t) => {
  const deep = (levels: number): unknown =>
    levels === 0 ? value : { name: 'a', type: 'a', values: [deep(levels - 1)] }
  const read = readEntry(
    {
      name: 'a',
      version: 'b',
      metadata: JSON.parse('{"__proto__":"x","a":1,"b":"c"}'),
      nodes: [{ id: 'a', address: 1 }, { id: 'b', address: 'c', metadata: 7 }, null],
      endpoints: [{ name: 7 }, { name: 'A.B', request: deep(1000) }],
    },
    'mx',
  )
  t.same(read?.metadata, { b: 'c' })
  t.equal(Object.getPrototypeOf(read?.metadata), Object.prototype)
  t.same(read?.nodes, [{ id: 'b', address: 'c', metadata: {} }])
  t.match(read?.endpoints, [
    { name: 'A.B', response: { name: '', type: '', values: [] }, metadata: {} },
  ])
  t.ok(JSON.stringify(read).length < 2000, 'limited in depth')
})
