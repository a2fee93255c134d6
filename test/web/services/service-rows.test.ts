import t from 'tap'
import {
  type Entries,
  type Entry,
  keyOf,
  searchRows,
  toRows,
} from '../../../web/services/service-rows.ts'

const VALUE = { name: '', type: '', values: [] }

function entry(name: string, version: string, nodes: number, domain = 'mx'): Entry {
  return {
    name,
    version,
    metadata: { description: `The ${name}`, team: 'blue' },
    endpoints: [{ name: 'Greeter.Hello', request: VALUE, response: VALUE, metadata: {} }],
    nodes: Array.from({ length: nodes }, (_, i) => ({
      id: `${name}-${version}-${i}`,
      address: `10.0.0.${i}:80`,
      metadata: i === 0 ? {} : { state: 'draining' },
    })),
    options: { domain },
  }
}

function toEntries(...list: Entry[]): Entries {
  return new Map(list.map((each) => [keyOf(each), each]))
}

t.test('groups versions into one row per service and namespace', async (t) => {
  const rows = toRows(
    toEntries(
      entry('b', '2', 1),
      entry('b', '1', 2),
      entry('a', '1', 1),
      entry('b', '1', 1, 'acme'),
    ),
  )
  t.same(
    rows.map(({ name, domain, versions }) => [name, domain, versions]),
    [
      ['a', 'mx', ['1']],
      ['b', 'acme', ['1']],
      ['b', 'mx', ['1', '2']],
    ],
  )
  const [, , row] = rows
  t.equal(row!.nodes.length, 3)
  t.equal(row!.draining, 1)
  t.same(row!.endpoints, ['Greeter.Hello'])
  t.equal(row!.description, 'The b')
})

t.test('searches every word in all texts of a service', async (t) => {
  const rows = toRows(toEntries(entry('alpha', '1', 1), entry('beta', '2', 1)))
  const result = (text: string): string[] => searchRows(rows, text).map(({ name }) => name)
  t.same(result(''), ['alpha', 'beta'])
  t.same(result('ALPHA'), ['alpha'])
  t.same(result('team=blue beta'), ['beta'])
  t.same(result('10.0.0.0:80 greeter.hello'), ['alpha', 'beta'])
  t.same(result('blue'), [], 'metadata is searched by key=value only')
  t.same(result('gamma'), [])
})
