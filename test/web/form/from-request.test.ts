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

t.test('a request put into the form comes out as it was', (t) => {
  fc.assert(
    fc.property(REQUEST, (request) => {
      const { value, problems } = toRequest(FORM, fromRequest(FORM, request))
      if (problems.length > 0) throw new Error(JSON.stringify(problems))
      const sort = (given: object) => Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1))
      return JSON.stringify(sort(value as object)) === JSON.stringify(sort(request))
    }),
  )
  t.end()
})

t.test('what the form has no place for is named, not lost', (t) => {
  const cases: [request: unknown, message: string][] = [
    [{ nobody: 1 }, 'request.nobody is no field of the form'],
    [{ items: [{ id: 1, x: 2 }] }, 'request.items[0].x is no field of the form'],
    [{ name: 5 }, 'request.name is no string the form could show'],
    [{ kind: 'green' }, 'request.kind is no string the form could show'],
    [{ either: 5 }, 'request.either is none of its alternatives'],
    [{ labels: [] }, 'request.labels is no map[string]string the form could show'],
    [[], 'request is no object the form could show'],
  ]
  for (const [request, message] of cases)
    t.throws(() => fromRequest(FORM, request), { message }, JSON.stringify(request))
  t.end()
})

t.test('an alternative is found by what fits, and the others stay to be chosen', (t) => {
  const draft = fromRequest(FORM, { either: { a: 'x' } })
  const either = draft.parts[FORM.parts.findIndex(({ name }) => name === 'either')]!.draft
  t.equal(either.text, '1')
  t.equal(either.parts.length, 2)
  t.end()
})

t.test('what is too deep, or has too many alternatives, has no place', (t) => {
  const self = { $ref: '#/$defs/A' }
  const list = toField({ ...self, $defs: { A: { type: 'array', items: self } } })
  const nest = (levels: number): unknown[] => (levels === 0 ? [] : [nest(levels - 1)])
  t.doesNotThrow(() => fromRequest(list, nest(30)))
  t.throws(() => fromRequest(list, nest(900)), /request\[0\] is deeper than the form goes/)
  const node = (name: string) => ({
    type: 'object',
    properties: { a: self, [name]: { type: 'string' } },
  })
  const either = toField({ ...self, $defs: { A: { anyOf: [node('b'), node('c')] } } })
  const chain = (levels: number): object => (levels === 0 ? { none: 1 } : { a: chain(levels - 1) })
  t.throws(() => fromRequest(either, chain(40)), /is none of its alternatives/)
  t.end()
})
