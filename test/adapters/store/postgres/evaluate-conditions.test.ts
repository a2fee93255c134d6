import t from 'tap'
import {
  decide,
  evaluateConditions,
  type StoredVersion,
} from '../../../../adapters/store/postgres/evaluate-conditions.ts'
import type { StoreChange, StoreGroup } from '../../../../core/contracts/store.ts'

const NOW_MS = 100
const table = { database: 'mx', table: 'users' }
const getName = (key: string) => `mx\0users\0${key}`

const write = (key: string, ifVersion?: number, expiresMs = 0): StoreChange => ({
  table,
  key,
  value: new Uint8Array(0),
  metadata: {},
  expiresMs,
  ifVersion,
})
const remove = (key: string, ifVersion?: number): StoreChange => ({
  ...write(key, ifVersion),
  value: undefined,
})

/** @param known by key: version and expiry. */
function decideOn(groups: readonly StoreGroup[], known: Record<string, [number, number?]> = {}) {
  const result = Object.entries(known).map(
    ([key, [version, expiresMs = 0]]): [string, StoredVersion] => [
      getName(key),
      { version, expiresMs },
    ],
  )
  return decide(groups, evaluateConditions(groups), new Map(result), NOW_MS)
}

t.test('reads only the keys of conditions and deletions', async (t) => {
  const checked = evaluateConditions([[write('a'), write('b', 0)], [remove('c'), write('b')], []])
  t.same([...checked.keys()], [getName('b'), getName('c')])
  t.same(checked.get(getName('b')), { table, key: 'b' })
})

t.test('writes the last change of a key and emits each', async (t) => {
  const { plan, toOutcomes } = decideOn([[write('a')], [write('b')], [write('a')]])
  t.same(
    plan.puts.map(({ change, offset }) => [change.key, offset]),
    [
      ['a', 2],
      ['b', 1],
    ],
  )
  t.same(
    plan.events.map(({ type, key }) => `${type} ${key}`),
    ['write a', 'write b', 'write a'],
  )
  t.equal(plan.versions, 3)
  t.same(plan.checks, [])
  t.same(toOutcomes(10), [[10], [11], [12]])
})

t.test('returns the deleted version and writes only effective deletions', async (t) => {
  const groups = [
    [remove('a')],
    [remove('a')],
    [remove('nothing')],
    [write('new')],
    [remove('new')],
  ]
  const { plan, toOutcomes } = decideOn(groups, { a: [7, NOW_MS] })
  t.same(toOutcomes(10), [[7], [0], [0], [10], [10]])
  t.same(
    plan.deletes.map(({ key }) => key),
    ['a'],
  )
  t.same(plan.puts, [])
  t.same(
    plan.events.map(({ type, key }) => `${type} ${key}`),
    ['delete a', 'write new', 'delete new'],
  )
  t.same(
    plan.checks.map(({ place, version }) => [place.key, version]),
    [
      ['a', 7],
      ['nothing', 0],
      ['new', 0],
    ],
  )
})

t.test('evaluates conditions after earlier groups', async (t) => {
  const groups = [
    [write('a', 0)],
    [write('a', 0), write('b')],
    [remove('a')],
    [write('a', 0)],
    [write('c', 5)],
    [write('c', 5)],
  ]
  const { plan, toOutcomes } = decideOn(groups, { c: [5] })
  t.same(toOutcomes(10), [
    [10],
    { index: 0, version: 10 },
    [10],
    [11],
    [12],
    { index: 0, version: 12 },
  ])
  t.same(
    plan.puts.map(({ change }) => change.key),
    ['a', 'c'],
  )
})

t.test('treats an expired record as absent but still checks its version', async (t) => {
  const { plan, toOutcomes } = decideOn(
    [[write('a', 0)], [write('b', 8)], [write('c', 0, NOW_MS)], [write('c', 0)]],
    { a: [7, NOW_MS], b: [8, NOW_MS + 1] },
  )
  t.same(toOutcomes(10), [[10], [11], [12], [13]])
  t.same(
    plan.checks.map(({ version }) => version),
    [7, 8, 0],
  )
})

t.test('applies nothing of a rejected group', async (t) => {
  const { plan, toOutcomes } = decideOn([[write('a'), remove('b'), write('c', 1)]], { b: [3] })
  t.same(toOutcomes(10), [{ index: 2, version: 0 }])
  t.match(plan, { puts: [], deletes: [], events: [], versions: 0 })
})
