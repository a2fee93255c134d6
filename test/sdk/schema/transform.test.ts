import t from 'tap'
import { type TSchema, Type } from 'typebox'
import type { JsonSchema } from '../../../sdk/schema/json-schema.ts'
import { Int64 } from '../../../sdk/schema/schema-types.ts'
import { compileTransform, type TransformMode } from '../../../sdk/schema/transform.ts'

const DateType = Type.Codec(Type.String())
  .Decode((text) => new Date(text))
  .Encode((date) => date.toISOString())

function apply(schema: TSchema, mode: TransformMode, value: unknown): unknown {
  return compileTransform(schema as JsonSchema, mode)!(value)
}

t.test('a schema without transformations has no transform', async (t) => {
  const schema = Type.Object({ a: Type.String(), b: Type.Array(Type.Object({ c: Type.Number() })) })
  for (const mode of ['default', 'integer', 'decode', 'encode'] as const)
    t.equal(compileTransform(schema as JsonSchema, mode), undefined)
})

t.test('codecs run at any position of a schema', async (t) => {
  const when = '2026-01-02T03:04:05.000Z'
  const date = new Date(when)
  const cases: readonly [TSchema, unknown, unknown][] = [
    [DateType, when, date],
    [Type.Object({ a: DateType, b: Type.String() }), { a: when, b: 'x' }, { a: date, b: 'x' }],
    [Type.Object({ a: Type.Optional(DateType) }), {}, {}],
    [Type.Array(DateType), [when], [date]],
    [Type.Tuple([Type.String(), DateType]), ['x', when], ['x', date]],
    [Type.Record(Type.String(), DateType), { x: when }, { x: date }],
    [
      Type.Object({ a: Type.String() }, { additionalProperties: DateType }),
      { a: 'x', b: when },
      { a: 'x', b: date },
    ],
    [
      Type.Intersect([Type.Object({ a: DateType }), Type.Object({ b: DateType })]),
      { a: when, b: when },
      { a: date, b: date },
    ],
    [
      Type.Union([
        Type.Object({ kind: Type.Literal('a'), at: Type.String() }),
        Type.Object({ kind: Type.Literal('b'), at: DateType }),
      ]),
      { kind: 'b', at: when },
      { kind: 'b', at: date },
    ],
    [Type.Union([Type.Null(), DateType]), null, null],
  ]
  for (const [schema, wire, value] of cases) {
    t.strictSame(apply(schema, 'decode', structuredClone(wire)), value)
    const before = structuredClone(value)
    t.strictSame(apply(schema, 'encode', value), wire)
    t.strictSame(value, before, 'the value of the program is unchanged')
  }
})

t.test('the codec of an object receives its fields decoded', async (t) => {
  const Span = Type.Codec(Type.Object({ from: Int64(), to: Int64() }))
    .Decode(({ from, to }) => to - from)
    .Encode((length) => ({ from: 0n, to: length }))
  t.equal(apply(Span, 'decode', { from: 1, to: '5' }), 4n)
  t.strictSame(apply(Span, 'encode', 4n), { from: 0, to: 4 })
})

t.test('recursive schemas are supported', async (t) => {
  const Tree = Type.Cyclic(
    {
      Node: Type.Object({ id: Int64(), kids: Type.Array(Type.Ref('Node'), { default: [] }) }),
    },
    'Node',
  )
  const tree = apply(Tree, 'default', { id: 1, kids: [{ id: 2 }] })
  t.strictSame(tree, { id: 1, kids: [{ id: 2, kids: [] }] })
  t.strictSame(apply(Tree, 'decode', tree), { id: 1n, kids: [{ id: 2n, kids: [] }] })
  const pointer = {
    $defs: { node: { properties: { n: { default: 1 }, next: { $ref: '#/$defs/node' } } } },
    $ref: '#/$defs/node',
  }
  t.strictSame(compileTransform(pointer, 'default')!({ next: { next: {} } }), {
    n: 1,
    next: { n: 1, next: { n: 1 } },
  })
})

t.test('defaults apply only within the matching alternative', async (t) => {
  const schema = Type.Union([
    Type.Object({ x: Type.Integer(), size: Type.Integer({ default: 1 }) }),
    Type.Object({ y: Type.Integer(), width: Type.Integer({ default: 2 }) }),
  ])
  t.strictSame(apply(schema, 'default', { y: 5 }), { y: 5, width: 2 })
  t.strictSame(apply(schema, 'default', { z: 5 }), { z: 5 })
})

t.test('digits are converted to numbers only for integer types', async (t) => {
  const schema = Type.Object({
    n: Type.Integer(),
    text: Type.String(),
    either: Type.Union([Type.String(), Type.Integer()]),
    maybe: Type.Union([Type.Integer(), Type.Null()]),
    list: Type.Array(Type.Integer()),
  })
  t.strictSame(
    apply(schema, 'integer', {
      n: '5',
      text: '5',
      either: '5',
      maybe: '5',
      list: ['1', 'x', '01'],
    }),
    { n: 5, text: '5', either: '5', maybe: 5, list: [1, 'x', '01'] },
  )
  for (const n of ['1e3', ' 1', '', '1.0', '9007199254740993', '0x1'])
    t.strictSame(apply(schema, 'integer', { n }), { n })
})

t.test('nested alternatives take linear time', async (t) => {
  const operation = (op: string) =>
    Type.Object({
      op: Type.Literal(op),
      left: Type.Ref('Expr'),
      right: Type.Ref('Expr'),
      note: Type.String({ default: '' }),
    })
  const Expr = Type.Cyclic(
    { Expr: Type.Union([operation('add'), operation('mul'), Type.Integer()]) },
    'Expr',
  )
  let deep: unknown = 'no integer'
  for (let depth = 0; depth < 60; depth++) deep = { op: 'mul', left: 1, right: deep }
  const started = performance.now()
  apply(Expr, 'default', deep)
  t.ok(performance.now() - started < 5000, '2^60 steps would take centuries')
})

t.test('a field named __proto__ remains a field', async (t) => {
  const schema = Type.Record(Type.String(), Int64())
  const hostile = JSON.parse('{"__proto__":"1","a":"2"}')
  const decoded = apply(schema, 'decode', hostile) as object
  t.equal(Object.getPrototypeOf(decoded), Object.prototype)
})
