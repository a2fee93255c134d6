import fc from 'fast-check'
import t from 'tap'
import { cloneJson, NOT_CLONEABLE } from '../../../sdk/schema/clone-json.ts'

/** Returns the value after a JSON round trip. */
const viaText = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? '{}')

t.test('a copy equals the value after a JSON round trip', async (t) => {
  const bare = Object.assign(Object.create(null), { a: 1 })
  const values = [
    null,
    0,
    -0,
    1.5,
    '',
    'a\ud800',
    true,
    undefined,
    [],
    [undefined, () => {}, Number.NaN, [1, [2]]],
    // biome-ignore lint/suspicious/noSparseArray: tests the JSON form of a sparse array.
    [1, , 2],
    {},
    { a: undefined, b: () => {}, [Symbol('c')]: 1, d: { e: [null] } },
    { b: 1, a: 2, 1: 3 },
    bare,
  ]
  for (const value of values) {
    const copy = cloneJson(value)
    t.strictSame(copy, viaText(value))
    t.equal(JSON.stringify(copy), JSON.stringify(viaText(value)))
  }
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = cloneJson(value)
      const text = JSON.stringify(value)
      return copy === NOT_CLONEABLE
        ? /__proto__|toJSON|\d{16}|e\+/.test(text)
        : JSON.stringify(copy) === text
    }),
  )
})

t.test('a copy shares no objects with the value', async (t) => {
  const value = { list: [{ a: 1 }], object: { b: { c: 2 } } }
  const copy = cloneJson(value) as typeof value
  copy.list[0]!.a = 5
  copy.list.push({ a: 6 })
  copy.object.b.c = 7
  t.strictSame(value, { list: [{ a: 1 }], object: { b: { c: 2 } } })
})

t.test('values that need JSON serialization are not cloned', async (t) => {
  class Point {
    x = 1
  }
  const loop: Record<string, unknown> = {}
  loop['self'] = loop
  let deep: unknown = 1
  for (let i = 0; i < 64; i++) deep = [deep]
  t.not(cloneJson(deep), NOT_CLONEABLE)
  const unclonable = [
    1n,
    new Date(0),
    new Map(),
    new Point(),
    new Uint8Array(2),
    Object('boxed'),
    2 ** 53,
    1e300,
    loop,
    [deep],
    JSON.parse('{"__proto__":{"a":1}}'),
    { toJSON: () => 1 },
    Object.assign([], { toJSON: () => 1 }),
  ]
  for (const value of unclonable) {
    t.equal(cloneJson(value), NOT_CLONEABLE)
    t.equal(cloneJson({ a: [value] }), NOT_CLONEABLE)
  }
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, () => {}, Symbol('a')])
    t.equal(cloneJson(value), NOT_CLONEABLE, 'not a message')
})
