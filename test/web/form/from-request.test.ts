import fc from 'fast-check'
import t from 'tap'
import type { JsonSchema } from '../../../sdk/schema/json-schema.ts'
import { toField } from '../../../web/form/field.ts'
import { fromRequest } from '../../../web/form/from-request.ts'
import { toRequest } from '../../../web/form/to-request.ts'

const SCHEMA: JsonSchema = {
  type: 'object',
  required: ['name', 'items'],
  properties: {
    name: { type: 'string' },
    count: { type: 'integer', default: 3 },
    big: { type: ['integer', 'string'], format: 'int64' },
    data: { type: 'string', contentEncoding: 'base64' },
    kind: { anyOf: [{ const: 'red' }, { const: 'blue' }] },
    perhaps: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
    items: { type: 'array', items: { type: 'object', properties: { id: { type: 'number' } } } },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'boolean' }] },
    either: {
      anyOf: [{ type: 'string' }, { type: 'object', properties: { a: { type: 'string' } } }],
    },
    other: {},
  },
}
const FORM = toField(SCHEMA)

const REQUEST = fc.record(
  {
    name: fc.string(),
    count: fc.integer(),
    big: fc.constantFrom('9223372036854775807', 5),
    data: fc.constantFrom('', 'AAE=', '_-8'),
    kind: fc.constantFrom('red', 'blue'),
    perhaps: fc.constantFrom(true, false, null),
    items: fc.array(fc.record({ id: fc.integer() }, { requiredKeys: [] })),
    labels: fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true }),
    pair: fc.tuple(fc.string(), fc.boolean()),
    either: fc.oneof(fc.string(), fc.record({ a: fc.string() })),
    other: fc.constantFrom(null, 1, 'x', { a: [true] }, []),
  },
  { requiredKeys: ['name', 'items'], noNullPrototype: true },
)

t.test('filling the form from a request round-trips', (t) => {
  fc.assert(
    fc.property(REQUEST, (request) => {
      const { value, problems } = toRequest(FORM, fromRequest(FORM, request))
      if (problems.length > 0) throw new Error(JSON.stringify(problems))
      const sort = (object: object) => Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
      return JSON.stringify(sort(value as object)) === JSON.stringify(sort(request))
    }),
  )
  t.end()
})

t.test('a value that the form cannot represent is rejected with its path', (t) => {
  const cases: [request: unknown, message: string][] = [
    [{ missing: 1 }, 'request.missing is not in the schema'],
    [{ items: [{ id: 1, x: 2 }] }, 'request.items[0].x is not in the schema'],
    [{ name: 5 }, 'request.name is not a valid string'],
    [{ kind: 'green' }, 'request.kind is not a valid string'],
    [{ either: 5 }, 'request.either does not match any alternative'],
    [{ labels: [] }, 'request.labels is not a valid map[string]string'],
    [[], 'request is not a valid object'],
  ]
  for (const [request, message] of cases)
    t.throws(() => fromRequest(FORM, request), { message }, JSON.stringify(request))
  t.end()
})

t.test('selects the matching alternative and preserves the input of the others', (t) => {
  const draft = fromRequest(FORM, { either: { a: 'x' } })
  const either = draft.parts[FORM.parts.findIndex(({ name }) => name === 'either')]!.draft
  t.equal(either.text, '1')
  t.equal(either.parts.length, 2)
  t.end()
})

t.test('rejects requests that are too deep or have too many alternatives', (t) => {
  const self = { $ref: '#/$defs/A' }
  const list = toField({ ...self, $defs: { A: { type: 'array', items: self } } })
  const nest = (levels: number): unknown[] => (levels === 0 ? [] : [nest(levels - 1)])
  t.doesNotThrow(() => fromRequest(list, nest(30)))
  t.throws(() => fromRequest(list, nest(900)), /request\[0\] is nested too deep for the form/)
  const node = (name: string) => ({
    type: 'object',
    properties: { a: self, [name]: { type: 'string' } },
  })
  const either = toField({ ...self, $defs: { A: { anyOf: [node('b'), node('c')] } } })
  const chain = (levels: number): object => (levels === 0 ? { none: 1 } : { a: chain(levels - 1) })
  t.throws(() => fromRequest(either, chain(40)), /does not match any alternative/)
  t.end()
})
