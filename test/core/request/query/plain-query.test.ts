import fc from 'fast-check'
import t from 'tap'
import { coerce } from '../../../../core/request/coercion/coerce.ts'
import { parseSchema } from '../../../../core/request/coercion/schema-shape.ts'
import type { Shape } from '../../../../core/request/coercion/shape.ts'
import { formatPlainQuery } from '../../../../core/request/query/plain-query.ts'
import { parseQuery } from '../../../../core/request/query/query.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

const SCHEMA = parseSchema(
  JSON.stringify({
    type: 'object',
    properties: {
      name: { type: 'string' },
      count: { type: 'integer' },
      tags: { type: 'array', items: { type: 'string' } },
      any: {},
    },
  }),
)

function formatWithParser(query: string, shape: Shape | undefined): string {
  return JSON.stringify(coerce(parseQuery(query), shape))
}

t.test('a query of simple names and strings is formatted as JSON', async (t) => {
  for (const query of ['name=John', 'name=John&city=Oslo', 'a=x/y:z', 'A-b_c=Hello'])
    t.equal(formatPlainQuery(query, undefined), formatWithParser(query, undefined), query)
  t.equal(formatPlainQuery('name=John', undefined), '{"name":"John"}')
  t.equal(formatPlainQuery('name=12', SCHEMA), '{"name":"12"}', 'a string field')
  t.equal(formatPlainQuery('name=', SCHEMA), '{"name":""}')
})

t.test('other queries require the full parser', async (t) => {
  for (const query of [
    '',
    'a',
    '=x',
    'a=x&',
    'a=x&&b=y',
    'a=x&a=y',
    'a.b=x',
    'a[b]=x',
    'a[]=x',
    'a=%41',
    'a=x+y',
    'a="x"',
    'a=\\n',
    'a=1',
    'a=-1',
    'a=true',
    'a=null',
    'a=False',
    'a=x=y',
    'a={}',
    '__proto__=x',
    'constructor=x',
    'prototype=x',
    'a=\xe4',
    Array.from({ length: 17 }, (_, i) => `a${i}=x`).join('&'),
  ]) {
    t.equal(formatPlainQuery(query, undefined), undefined, query)
  }
  for (const query of ['count=x', 'tags=x', 'any=1']) {
    t.equal(formatPlainQuery(query, SCHEMA), undefined, query)
  }
  t.equal(formatPlainQuery('a=x', { kind: 'string' }), undefined, 'a request that is not an object')
})

t.test('a formatted plain query equals the result of the full parser', async () => {
  const name = fc.constantFrom('name', 'count', 'tags', 'any', 'a', 'b-c', '1', 'a.b', 'toString')
  const value = fc.oneof(
    fc.constantFrom('John', 'true', 'nil', 'north', '1', '-', '', 'x/y', 'a=b', '%20', "it's", '~'),
    fc.string({ maxLength: 6 }).map((text) => encodeURIComponent(text)),
  )
  const query = fc.array(
    fc.tuple(name, value).map((pair) => pair.join('=')),
    { maxLength: 5 },
  )
  fc.assert(
    fc.property(query, fc.constantFrom(undefined, SCHEMA), (pairs, shape) => {
      const text = pairs.join('&')
      const plain = formatPlainQuery(text, shape)
      return plain === undefined || plain === formatWithParser(text, shape)
    }),
    { numRuns: scaleRuns(3000) },
  )
})
