import t from 'tap'
import Type from 'typebox'
import { parseSchema } from '../../../../core/request/coercion/schema-shape.ts'
import type { Shape } from '../../../../core/request/coercion/shape.ts'

function read(schema: unknown): Shape | undefined {
  return parseSchema(JSON.stringify(schema))
}

/** Shape of field `a` of an object. */
function field(schema: unknown): Shape | undefined {
  const shape = read({ type: 'object', properties: { a: schema } })
  return shape?.kind === 'object' ? shape.fields.get('a') : undefined
}

t.test('scalar types, enum and const have their shapes, unknown types are any', async (t) => {
  t.equal(field({ type: 'string' })?.kind, 'string')
  t.equal(field({ type: 'number' })?.kind, 'number')
  t.equal(field({ type: 'boolean' })?.kind, 'boolean')
  t.equal(field({ type: 'null' })?.kind, 'null')
  t.equal(field({})?.kind, 'any')
  t.equal(field(true)?.kind, 'any')
  t.equal(field({ type: 'unheard of' })?.kind, 'any')
  t.same(field({ enum: ['a', 1] }), { kind: 'enum', values: ['a', 1] })
  t.same(field({ const: null }), { kind: 'enum', values: [null] })
})

t.test('an integer has the bounds of its format, by default of safe integers', async (t) => {
  const safe = BigInt(Number.MAX_SAFE_INTEGER)
  t.same(field({ type: 'integer' }), { kind: 'integer', min: -safe, max: safe })
  t.same(field({ type: 'integer', format: 'int32' }), {
    kind: 'integer',
    min: -(2n ** 31n),
    max: 2n ** 31n - 1n,
  })
  t.same(field({ type: 'integer', format: 'uint64' }), {
    kind: 'integer',
    min: 0n,
    max: 2n ** 64n - 1n,
  })
  t.same(
    field({ type: ['integer', 'string'], format: 'int64' }),
    field({ type: 'integer', format: 'int64' }),
    'a large int64 is a string in JSON',
  )
  t.same(field({ type: 'integer', format: 'odd' }), { kind: 'integer', min: -safe, max: safe })
})

t.test('objects, records, lists and tuples have their shapes', async (t) => {
  const record = field({ type: 'object', additionalProperties: { type: 'integer' } })
  t.ok(record?.kind === 'object' && record.fields.size === 0 && record.rest.kind === 'integer')
  const closed = field({ properties: { x: {} }, additionalProperties: false })
  t.ok(closed?.kind === 'object' && closed.fields.has('x') && closed.rest.kind === 'any')
  const list = field({ type: 'array', items: { type: 'string' } })
  t.ok(list?.kind === 'list' && list.items.kind === 'string' && list.first.length === 0)
  for (const schema of [
    {
      type: 'array',
      prefixItems: [{ type: 'number' }, { type: 'null' }],
      items: { type: 'string' },
    },
    {
      type: 'array',
      items: [{ type: 'number' }, { type: 'null' }],
      additionalItems: { type: 'string' },
    },
  ]) {
    const tuple = field(schema)
    t.ok(tuple?.kind === 'list' && tuple.items.kind === 'string')
    t.same(tuple?.kind === 'list' && tuple.first.map(({ kind }) => kind), ['number', 'null'])
  }
})

t.test('anyOf, oneOf and type lists become unions, and allOf is merged', async (t) => {
  const kinds = (shape: Shape | undefined) =>
    shape?.kind === 'union' ? shape.options.map(({ kind }) => kind) : shape?.kind
  t.same(kinds(field({ anyOf: [{ type: 'integer' }, { type: 'string' }] })), ['integer', 'string'])
  t.same(kinds(field({ oneOf: [{ type: 'null' }, { type: 'string' }] })), ['null', 'string'])
  t.same(kinds(field({ type: ['integer', 'null'] })), ['integer', 'null'])
  const all = field({
    allOf: [{ type: 'object', properties: { x: { type: 'string' } } }, { $ref: '#/properties/b' }],
    properties: { z: { type: 'null' } },
  })
  t.same(all?.kind === 'object' && [...all.fields.keys()], ['x', 'z'])
  t.same(kinds(field({ allOf: [{}, { type: 'integer' }, { minimum: 1 }] })), 'integer')
})

t.test(
  'references within the schema are resolved, including cyclic ones; others accept any value',
  async (t) => {
    const shape = read({
      type: 'object',
      properties: {
        id: { $ref: '#/$defs/a~1b/allOf/0' },
        self: { $ref: '#' },
        gone: { $ref: '#/$defs/none/x' },
        proto: { $ref: '#/__proto__/constructor' },
        far: { $ref: 'https://example.com/schema' },
      },
      $defs: { 'a/b': { allOf: [{ type: 'boolean' }] } },
    })
    if (shape?.kind !== 'object') throw new TypeError('no object')
    t.equal(shape.fields.get('id')?.kind, 'boolean')
    t.equal(shape.fields.get('self'), shape)
    for (const name of ['gone', 'proto', 'far']) t.equal(shape.fields.get(name)?.kind, 'any', name)
    t.equal(read({ $ref: '#' })?.kind, 'any', 'a self-reference terminates')
  },
)

t.test('TypeBox schemas have their shapes', async (t) => {
  const shape = read(
    Type.Object({
      name: Type.String(),
      limit: Type.Optional(Type.Integer()),
      big: Type.BigInt(),
      kind: Type.Union([Type.Literal('a'), Type.Literal('b')]),
      labels: Type.Record(Type.String(), Type.Number()),
      pair: Type.Tuple([Type.String(), Type.Boolean()]),
      both: Type.Intersect([Type.Object({ x: Type.Null() }), Type.Object({ y: Type.Boolean() })]),
      tree: Type.Cyclic({ Node: Type.Object({ left: Type.Ref('Node') }) }, 'Node'),
    }),
  )
  if (shape?.kind !== 'object') throw new TypeError('no object')
  const kinds = [...shape.fields].map(([name, { kind }]) => `${name}: ${kind}`)
  t.same(kinds, [
    'name: string',
    'limit: integer',
    'big: integer',
    'kind: union',
    'labels: object',
    'pair: list',
    'both: object',
    'tree: object',
  ])
  const labels = shape.fields.get('labels')
  t.ok(labels?.kind === 'object' && labels.rest.kind === 'number')
})

t.test('a text that is not a schema has no shape', async (t) => {
  for (const text of ['', 'x', '[]', '1', 'null', 'true'])
    t.equal(parseSchema(text), undefined, text)
})

t.test('__proto__ and toString are ordinary field names', async (t) => {
  const shape = parseSchema(
    '{"properties":{"__proto__":{"type":"null"},"toString":{"type":"null"}}}',
  )
  t.same(shape?.kind === 'object' && [...shape.fields.keys()], ['__proto__', 'toString'])
})

t.test('a schema that expands exponentially is parsed within 5 seconds', async (t) => {
  const $defs: Record<string, unknown> = {}
  for (let i = 0; i < 60; i++)
    $defs[`d${i}`] = { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] }
  const before = performance.now()
  t.ok(read({ $ref: '#/$defs/d0', $defs }))
  t.ok(performance.now() - before < 5000)
  t.ok(parseSchema(`${'{"items":'.repeat(5000)}{}${'}'.repeat(5000)}`), 'deep nesting is parsed')
})
