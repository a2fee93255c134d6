import t from 'tap'
import { Type } from '../../../core/schema.ts'
import type { JsonSchema } from '../../../sdk/schema/json-schema.ts'
import { compileSchema } from '../../../sdk/schema/schema.ts'
import { Bytes, Int64 } from '../../../sdk/schema/schema-types.ts'
import { type Field, toField } from '../../../web/form/field.ts'

const part = (field: Field, name: string): Field => field.parts.find((each) => each.name === name)!

t.test('maps each type of a service to a field kind', (t) => {
  const schema = compileSchema(
    Type.Object({
      name: Type.String({ description: 'Name of the owner.' }),
      count: Type.Integer({ default: 3 }),
      big: Type.Optional(Int64()),
      ratio: Type.Number(),
      is_open: Type.Boolean(),
      data: Bytes(),
      kind: Type.Union([Type.Literal('red'), Type.Literal('blue')]),
      colour: Type.Enum(['RED', 'BLUE']),
      tags: Type.Array(Type.String()),
      labels: Type.Record(Type.String(), Type.Integer()),
      point: Type.Tuple([Type.Number(), Type.String()]),
      inner: Type.Object({ domain: Type.String() }),
      either: Type.Union([Type.String(), Type.Object({ id: Type.Integer() })]),
      perhaps: Type.Union([Type.String(), Type.Null()]),
      other: Type.Unknown(),
      version: Type.Literal(1),
    }),
    'request',
  ).jsonSchema!
  const form = toField(schema)
  t.equal(form.kind, 'object')
  const fields = form.parts.map(({ name, kind, type, isRequired, isNullable }) => [
    `${name}: ${kind} ${type}${isRequired ? '' : '?'}${isNullable ? ' or null' : ''}`,
  ])
  t.same(fields.flat(), [
    'name: text string',
    'count: integer int64?',
    'big: integer int64?',
    'ratio: number double',
    'is_open: boolean bool',
    'data: bytes bytes',
    'kind: choice string',
    'colour: choice string',
    'tags: list []string',
    'labels: map map[string]int64',
    'point: tuple []any',
    'inner: object object',
    'either: union any',
    'perhaps: text string or null',
    'other: json any',
    'version: choice int64',
  ])
  t.equal(part(form, 'name').description, 'Name of the owner.')
  t.equal(part(form, 'count').default, 3)
  t.same(part(form, 'kind').choices, ['red', 'blue'])
  t.equal(part(form, 'tags').item?.kind, 'text')
  t.equal(part(form, 'labels').item?.kind, 'integer')
  t.same(
    part(form, 'point').parts.map(({ kind }) => kind),
    ['number', 'text'],
  )
  t.same(
    part(form, 'either').parts.map(({ kind }) => kind),
    ['text', 'object'],
  )
  t.end()
})

t.test('expands a recursive schema lazily', (t) => {
  const Tree = Type.Cyclic(
    { Tree: Type.Object({ name: Type.String(), inner: Type.Array(Type.Ref('Tree')) }) },
    'Tree',
  )
  let field = toField(compileSchema(Tree, 'request').jsonSchema!)
  for (let depth = 0; depth < 50; depth++) {
    t.equal(field.kind, 'object')
    field = part(field, 'inner').item!
  }
  t.end()
})

t.test('supports schemas of other libraries', (t) => {
  const form = toField({
    $defs: { Base: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } },
    allOf: [{ $ref: '#/$defs/Base' }, { properties: { age: { type: ['integer', 'null'] } } }],
    properties: {
      base: { $ref: '#/$defs/Base', description: 'Where it comes from.' },
      mixed: { type: ['string', 'number'] },
      secret: { type: 'string', writeOnly: true },
      free: { type: 'object' },
      none: { type: 'object', properties: {} },
      lost: { $ref: '#/$defs/Missing' },
      bare: { properties: { a: {} } },
      list: { type: 'array' },
      many: { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } },
    },
  })
  t.same(form.parts.map(({ name, kind }) => `${name}: ${kind}`).sort(), [
    'age: integer',
    'bare: object',
    'base: object',
    'free: json',
    'id: text',
    'list: list',
    'lost: json',
    'many: json',
    'mixed: union',
    'none: object',
    'secret: text',
  ])
  t.equal(part(form, 'id').isRequired, true)
  t.equal(part(form, 'age').isNullable, true)
  t.equal(part(form, 'secret').isSecret, true)
  t.equal(part(form, 'base').description, 'Where it comes from.')
  t.equal(part(form, 'base').parts[0]?.name, 'id')
  t.same(
    part(form, 'mixed').parts.map(({ kind }) => kind),
    ['text', 'number'],
  )
  t.equal(part(form, 'list').item?.kind, 'json')
  t.end()
})

t.test('falls back to JSON for an empty or invalid schema', (t) => {
  for (const schema of [{}, { type: 'thing' }, { $ref: '#/$defs/a', $defs: { a: { $ref: 'a' } } }])
    t.equal(toField(schema as JsonSchema).kind, 'json', JSON.stringify(schema))
  t.end()
})
