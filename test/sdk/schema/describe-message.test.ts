import t from 'tap'
import { type TSchema, Type } from 'typebox'
import type { Value } from '../../../core/contracts/registry.ts'
import { shapeOf } from '../../../core/request/coercion/shape.ts'
import { toShape } from '../../../core/request/coercion/value-shape.ts'
import { toValue } from '../../../sdk/schema/describe-message.ts'
import type { JsonSchema } from '../../../sdk/schema/json-schema.ts'
import { Bytes, Int64, Uint64 } from '../../../sdk/schema/schema-types.ts'

function listTypes(schema: TSchema): Record<string, string> {
  const { values } = toValue('CallRequest', schema as JsonSchema)
  return Object.fromEntries(values.map(({ name, type }) => [name, type]))
}

t.test('a value has name, type and nested values, which are empty for scalars', async (t) => {
  const schema = Type.Object({ name: Type.String(), options: Type.Object({ ttl: Int64() }) })
  t.strictSame(toValue('CallRequest', schema as JsonSchema), {
    name: 'CallRequest',
    type: 'CallRequest',
    values: [
      { name: 'name', type: 'string', values: [] },
      {
        name: 'options',
        type: 'object',
        values: [{ name: 'ttl', type: 'int64', values: [] }],
      },
    ],
  })
  t.strictSame(toValue('CallRequest', undefined), { name: 'CallRequest', type: 'any', values: [] })
})

t.test('schema types map to type names', async (t) => {
  t.strictSame(
    listTypes(
      Type.Object({
        text: Type.String(),
        flag: Type.Boolean(),
        count: Type.Integer(),
        ratio: Type.Number(),
        id: Int64(),
        size: Uint64(),
        small: Type.Integer({ format: 'int32' }),
        single: Type.Number({ format: 'float' }),
        data: Bytes(),
        words: Type.Array(Type.String()),
        grid: Type.Array(Type.Array(Type.Integer())),
        labels: Type.Record(Type.String(), Type.String()),
        pair: Type.Tuple([Type.String(), Type.String()]),
        mixed: Type.Tuple([Type.String(), Type.Integer()]),
        maybe: Type.Union([Type.Integer(), Type.Null()]),
        colour: Type.Union([Type.Literal('red'), Type.Literal('green')]),
        choice: Type.Enum(['a', 'b']),
        one: Type.Literal(1),
        half: Type.Literal(0.5),
        yes: Type.Literal(true),
        either: Type.Union([Type.String(), Type.Integer()]),
        titled: Type.Object({ a: Type.String() }, { title: 'Options' }),
        list: Type.Array(Type.Object({ a: Type.String() })),
        what: Type.Unknown(),
      }),
    ),
    {
      text: 'string',
      flag: 'bool',
      count: 'int64',
      ratio: 'double',
      id: 'int64',
      size: 'uint64',
      small: 'int32',
      single: 'float',
      data: 'bytes',
      words: '[]string',
      grid: '[][]int64',
      labels: 'map[string]string',
      pair: '[]string',
      mixed: '[]any',
      maybe: 'int64',
      colour: 'string',
      choice: 'string',
      one: 'int64',
      half: 'double',
      yes: 'bool',
      either: 'any',
      titled: 'Options',
      list: '[]object',
      what: 'any',
    },
  )
})

t.test('a list or map of objects has the fields of its items', async (t) => {
  const fields = Type.Object({ a: Type.String() })
  const leaf = [{ name: 'a', type: 'string', values: [] }]
  const { values } = toValue(
    'R',
    Type.Object({
      list: Type.Array(fields),
      map: Type.Record(Type.String(), fields),
    }) as JsonSchema,
  )
  t.strictSame(values, [
    { name: 'list', type: '[]object', values: leaf },
    { name: 'map', type: 'map[string]object', values: leaf },
  ])
})

t.test('an intersection has the fields of all parts', async (t) => {
  const intersection = Type.Intersect([
    Type.Object({ a: Type.String() }),
    Type.Object({ b: Type.Integer() }),
  ])
  t.strictSame(listTypes(intersection), { a: 'string', b: 'int64' })
})

t.test('recursion is limited in depth and size', async (t) => {
  const Tree = Type.Cyclic(
    { Node: Type.Object({ id: Type.String(), kids: Type.Array(Type.Ref('Node')) }) },
    'Node',
  )
  const getDepth = ({ values }: Value): number => 1 + Math.max(0, ...values.map(getDepth))
  const getSize = ({ values }: Value): number =>
    values.reduce((sum, value) => sum + getSize(value), 1)
  t.equal(getDepth(toValue('Tree', Tree as JsonSchema)), 7, 'six levels of fields')
  const loop: JsonSchema = { $defs: { a: { $ref: 'b' }, b: { $ref: 'a' } }, $ref: 'a' }
  t.strictSame(toValue('R', loop), { name: 'R', type: 'any', values: [] })
  t.strictSame(toValue('R', { $ref: 'nowhere' }), { name: 'R', type: 'any', values: [] })
  const names = Array.from({ length: 20 }, (_, i) => `f${i}`)
  const wide: JsonSchema = {
    $defs: { w: { properties: Object.fromEntries(names.map((name) => [name, { $ref: 'w' }])) } },
    $ref: 'w',
  }
  t.ok(getSize(toValue('R', wide)) < 1100, '20^6 fields are not described')
})

t.test(
  'the gateway derives the same shape from the description as from the JSON Schema',
  async (t) => {
    const schema = Type.Object({
      name: Type.String(),
      count: Int64(),
      flag: Type.Boolean(),
      tags: Type.Array(Type.String()),
      nested: Type.Object({ ratio: Type.Number() }),
    })
    const request = toValue('R', schema as JsonSchema)
    const described = { name: 'A.B', request, response: request }
    const bySchema = shapeOf({ ...described, metadata: { requestSchema: JSON.stringify(schema) } })
    const kinds = (shape: ReturnType<typeof shapeOf>) =>
      shape.kind === 'object' ? [...shape.fields].map(([name, { kind }]) => [name, kind]) : []
    t.strictSame(
      kinds(toShape(request)).filter(([name]) => name !== 'count'),
      kinds(bySchema).filter(([name]) => name !== 'count'),
    )
    t.strictSame(Object.fromEntries(kinds(toShape(request)))['count'], 'integer')
  },
)
