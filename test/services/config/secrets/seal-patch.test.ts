import t from 'tap'
import { sealPatch } from '../../../../services/config/secrets/seal-patch.ts'
import type { Sealer } from '../../../../services/config/tree/merge.ts'
import { splitConfigPath } from '../../../../services/config/tree/path.ts'
import { formatStored, parseStored } from '../../../../services/config/tree/tree-text.ts'

/** A sealer that returns value and path as text. */
const SEALER: Sealer = {
  seal: (names, text) => `${names.join('.')}=${text}`,
  open: (_names, sealed) => sealed,
}
const PATCH = parseStored(
  JSON.stringify({
    'a.b': '1',
    'a.c': { d: '2', e: { f: '3', g: '4' } },
    h: ['sealed'],
    i: '',
    j: { k: '5' },
  }),
)
const seal = (...places: string[]) => sealPatch(PATCH, places.map(splitConfigPath), SEALER)
const stored = (...places: string[]) => JSON.parse(formatStored(seal(...places)))
const plain = JSON.parse(formatStored(PATCH))

t.test('seals values at, below and above a path, bound to their own path', async (t) => {
  for (const [places, changed] of [
    [['a.b'], { 'a.b': ['a.b=1'] }],
    [['a.b.x.y'], { 'a.b': ['a.b=1'] }],
    [['a.c.d'], { 'a.c': { d: ['a.c.d=2'], e: { f: '3', g: '4' } } }],
    [['a.c.e.f', 'a.c.e.x'], { 'a.c': { d: '2', e: { f: ['a.c.e.f=3'], g: '4' } } }],
    [['a.c.e'], { 'a.c': { d: '2', e: { f: ['a.c.e.f=3'], g: ['a.c.e.g=4'] } } }],
    [
      ['a'],
      { 'a.b': ['a.b=1'], 'a.c': { d: ['a.c.d=2'], e: { f: ['a.c.e.f=3'], g: ['a.c.e.g=4'] } } },
    ],
    [['j.k.x', 'a.b'], { 'a.b': ['a.b=1'], j: { k: ['j.k=5'] } }],
  ] as const)
    t.strictSame(stored(...places), { ...plain, ...changed }, places.join())
})

t.test('leaves values outside a path, secrets and absent nodes unchanged', async (t) => {
  for (const places of [
    [],
    ['x'],
    ['a.x'],
    ['a.c.x', 'a.c.e.x'],
    ['h'],
    ['h.x'],
    ['i'],
    ['i.x'],
    ['b'],
    ['a.bc'],
  ])
    t.equal(seal(...places), PATCH, places.join())
})

t.test('seals many paths in linear time', async (t) => {
  const names = Array.from({ length: 20_000 }, (_, i) => `k${i}`)
  const patch = parseStored(
    JSON.stringify(Object.fromEntries(names.map((name) => [`a.${name}`, '1']))),
  )
  const sealed = sealPatch(
    patch,
    names.map((name) => ['a', name]),
    SEALER,
  )
  t.ok([...sealed.values()].every((node) => 'secret' in node && node.secret))
})
