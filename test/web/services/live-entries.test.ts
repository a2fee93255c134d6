import t from 'tap'
import { LiveEntries } from '../../../web/services/live-entries.ts'
import { type Change, type Entries, type Entry, keyOf } from '../../../web/services/service-rows.ts'

function entry(name: string, nodes = 1): Entry {
  return {
    ...{ name, version: '1', metadata: {}, endpoints: [], options: { domain: 'mx' } },
    nodes: Array.from({ length: nodes }, (_, i) => ({ id: `${i}`, address: '', metadata: {} })),
  }
}

function toList(...entries: Entry[]): Entries {
  return new Map(entries.map((each) => [keyOf(each), each]))
}

const update = (name: string, nodes = 1): Change => ({
  action: 'update',
  service: entry(name, nodes),
})
const remove = (name: string): Change => ({ action: 'delete', service: entry(name, 0) })

const show = ({ entries }: LiveEntries): readonly string[] | undefined =>
  entries && [...entries.values()].map(({ name, nodes }) => `${name}:${nodes.length}`)

t.test('changes during a list request take precedence over the list', async (t) => {
  const entries = new LiveEntries()
  const end = entries.startList()
  for (const change of [update('b', 3), remove('a'), update('c'), remove('c')])
    entries.apply(change)
  t.equal(show(entries), undefined)
  end(toList(entry('a'), entry('b'), entry('d')))
  t.same(show(entries), ['b:3', 'd:1'])
})

t.test('applies changes to the current entries only', async (t) => {
  const entries = new LiveEntries()
  entries.startList()(toList(entry('a')))
  const before = entries.entries
  t.equal(entries.entries, before, 'unchanged until an entry changes')
  for (let i = 0; i < 100_000; i++) entries.apply(update('b', (i % 3) + 1))
  t.same(show(entries), ['a:1', 'b:1'])
  entries.apply(remove('a'))
  t.same(show(entries), ['b:1'])
  t.equal(before!.size, 1, 'snapshots are immutable')
})

t.test('retains entries until a newer list arrives', async (t) => {
  const entries = new LiveEntries()
  entries.startList()(toList(entry('a')))
  const late = entries.startList()
  entries.apply(update('b'))
  t.same(show(entries), ['a:1', 'b:1'])
  const end = entries.startList()
  entries.apply(update('c'))
  late(toList())
  t.same(show(entries), ['a:1', 'b:1', 'c:1'], 'a superseded list is ignored')
  end(toList(entry('b', 2)))
  t.same(show(entries), ['b:2', 'c:1'])
})
