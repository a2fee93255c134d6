import t from 'tap'
import type { Endpoint } from '../../../core/contracts/registry.ts'
import { emptyDraft } from '../../../web/form/draft.ts'
import { type Field, toField } from '../../../web/form/field.ts'
import { describeSchema, readSchema, sanitizeSchema } from '../../../web/form/read-schema.ts'
import { toRequest } from '../../../web/form/to-request.ts'

const ANY = { name: '', type: 'any', values: [] }
const publish = (requestSchema: string): Endpoint => ({
  ...{ name: 'A.B', request: ANY, response: ANY },
  metadata: { requestSchema },
})
/** Traverses all fields that a form would render. */
const walk = (field: Field): Field => {
  toRequest(field, emptyDraft(field))
  return field
}

t.test('preserves a valid schema', async (t) => {
  const schema = {
    type: ['object', 'null'],
    title: 'A',
    properties: { a: { type: 'integer', minimum: 1, default: 3 }, b: { $ref: '#/$defs/B' } },
    required: ['a'],
    additionalProperties: false,
    $defs: { B: { type: 'array', items: { enum: [1, 'two', null] }, minItems: 1 } },
  }
  t.strictSame(readSchema(publish(JSON.stringify(schema)), 'request'), schema)
})

t.test('drops invalid keywords and accepts anything for an invalid schema', async (t) => {
  for (const input of [true, false, null, 7, 'text', [], [{}]]) t.same(sanitizeSchema(input), {})
  t.strictSame(
    sanitizeSchema({
      ...{ type: 5, title: {}, description: 42, format: [], pattern: 1, $ref: {} },
      ...{ minimum: '1', maxItems: null, minLength: {}, required: 'all', enum: 'abc' },
      ...{ anyOf: [], oneOf: 'x', allOf: {}, prefixItems: [], writeOnly: 'yes', unknown: 1 },
      properties: { a: true, b: { type: [3, 'string'] }, c: null },
      ...{ items: true, additionalProperties: 'x', $defs: [], patternProperties: 1 },
    }),
    {
      properties: { a: {}, b: { type: ['string'] }, c: {} },
      ...{ items: {}, additionalProperties: {} },
    },
  )
})

t.test('creates a form for every sanitized schema', async (t) => {
  const kinds = [
    ['true', 'json'],
    ['{"type":"nonsense"}', 'json'],
    ['{"type":["nonsense","other"]}', 'union'],
    ['{"anyOf":[]}', 'json'],
    ['{"anyOf":[{"type":"null"}]}', 'null'],
    ['{"oneOf":[true,false]}', 'union'],
    ['{"enum":[]}', 'json'],
    ['{"type":"array","items":true}', 'list'],
    ['{"type":"array","prefixItems":[true,5]}', 'tuple'],
    ['{"type":"object","properties":{"a":7}}', 'object'],
    ['{"allOf":[true,{"$ref":"#/$defs/none"}]}', 'object'],
    ['{"$ref":"#"}', 'json'],
  ] as const
  for (const [schema, kind] of kinds)
    t.equal(walk(toField(readSchema(publish(schema), 'request'))).kind, kind, schema)
})

t.test('terminates for recursive schemas', async (t) => {
  const self = { $ref: '#/$defs/A' }
  const names = Array.from({ length: 20 }, (_, i) => `p${i}`)
  const loops = [
    { ...self, $defs: { A: self } },
    { ...self, $defs: { A: { anyOf: [self] } } },
    { ...self, $defs: { A: { oneOf: [self, { type: 'null' }] } } },
    { ...self, $defs: { A: { anyOf: [self, self] } } },
    { ...self, $defs: { A: { allOf: [self, { type: 'object' }] } } },
    { ...self, $defs: { A: { type: 'array', items: self, minItems: 99 } } },
    { ...self, $defs: { A: { type: 'array', prefixItems: names.map(() => self) } } },
    {
      ...self,
      $defs: {
        A: {
          ...{ type: 'object', required: names },
          properties: Object.fromEntries(names.map((name) => [name, self])),
        },
      },
    },
  ]
  for (const schema of loops) t.ok(walk(toField(sanitizeSchema(schema))), JSON.stringify(schema))
})

t.test('truncates a schema with thousands of levels', async (t) => {
  const levels = 20_000
  const deep = `${'{"type":"array","items":'.repeat(levels)}{}${'}'.repeat(levels)}`
  t.doesNotThrow(() => JSON.stringify(readSchema(publish(deep), 'request')))
  t.doesNotThrow(() => JSON.stringify(describeSchema(publish(deep), 'request')))
  const value = `{"type":"string","default":${'['.repeat(levels)}${']'.repeat(levels)}}`
  t.strictSame(readSchema(publish(value), 'request'), { type: 'string' })
  const type = '[]'.repeat(levels)
  const lists = { ...publish(''), request: { ...ANY, type } }
  t.doesNotThrow(() => JSON.stringify(readSchema(lists, 'request')))
})

t.test('returns the schema as published', async (t) => {
  t.strictSame(describeSchema(publish('{"examples":[1]}'), 'request'), { examples: [1] })
  t.same(describeSchema({ ...publish(''), request: null as never }, 'request'), {})
})
