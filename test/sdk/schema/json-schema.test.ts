import t from 'tap'
import { Type } from 'typebox'
import {
  definitionsOf,
  findDefinition,
  followRefs,
  itemsOf,
  type JsonSchema,
  mapValuesOf,
  NO_DEFINITIONS,
  parsePointer,
  tupleItemsOf,
  typesOf,
} from '../../../sdk/schema/json-schema.ts'

t.test('definitions are found by name or pointer', async (t) => {
  const inner: JsonSchema = { type: 'string' }
  const definitions = definitionsOf({ $defs: { Node: inner, 'a/b': inner } }, NO_DEFINITIONS)
  for (const ref of ['Node', '#/$defs/Node', '#/definitions/Node', '#/$defs/a~1b'])
    t.equal(findDefinition(ref, definitions), inner, ref)
  for (const ref of ['Other', '', '#', 'toString', '__proto__'])
    t.equal(findDefinition(ref, definitions), undefined, ref)
  t.equal(definitionsOf({}, definitions), definitions)
  t.equal(findDefinition('Node', definitionsOf({ $defs: { Other: {} } }, definitions)), inner)
})

t.test('a list schema has prefix items and items', async (t) => {
  const [first, second] = [{ type: 'string' }, { type: 'integer' }] as const
  t.strictSame(tupleItemsOf({ prefixItems: [first], items: second }), [first])
  t.equal(itemsOf({ prefixItems: [first], items: second }), second)
  t.strictSame(tupleItemsOf({ items: [first, second] }), [first, second])
  t.equal(itemsOf({ items: [first, second] }), undefined)
  t.strictSame(tupleItemsOf({ items: first }), [])
  t.equal(itemsOf({}), undefined)
})

t.test('a map schema has a schema for additional values', async (t) => {
  t.match(mapValuesOf(Type.Record(Type.String(), Type.Integer()) as JsonSchema), {
    type: 'integer',
  })
  t.strictSame(mapValuesOf({ additionalProperties: { type: 'string' } }), { type: 'string' })
  t.equal(mapValuesOf({ additionalProperties: false }), undefined)
  t.equal(mapValuesOf({}), undefined)
})

t.test('a schema has no type, one type or several types', async (t) => {
  t.strictSame(typesOf({}), [])
  t.strictSame(typesOf({ type: 'string' }), ['string'])
  t.strictSame(typesOf({ type: ['string', 'null'] }), ['string', 'null'])
})

t.test('JSON pointers are parsed (RFC 6901)', async (t) => {
  t.strictSame(parsePointer(''), [])
  t.strictSame(parsePointer('#/a/0/b~1c~0d/'), ['a', '0', 'b/c~d', ''])
})

t.test('references are followed; a broken or circular one is an empty schema', async (t) => {
  const $defs = { A: { $ref: 'B' }, B: { type: 'string' }, C: { $ref: '#/$defs/C' } }
  const follow = ($ref: string) => followRefs({ $ref, $defs }, NO_DEFINITIONS).schema
  t.same(follow('A'), { type: 'string' })
  t.same(follow('C'), {})
  t.same(follow('#/$defs/None'), {})
})
