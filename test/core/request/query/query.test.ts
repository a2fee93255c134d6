import fc from 'fast-check'
import t from 'tap'
import { parsePairs, parseQuery } from '../../../../core/request/query/query.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

t.test('a query is parsed into pairs of names and values in order', async (t) => {
  const cases: [string, string[]][] = [
    ['', []],
    ['name=John', ['name', 'John']],
    ['b=2&a=1&b=3', ['b', '2', 'a', '1', 'b', '3']],
    ['a=b=c', ['a', 'b=c']],
    ['a+b=c+d', ['a b', 'c d']],
    ['a=%2B%20%26%3D', ['a', '+ &=']],
    ['%C3%A9=%E2%82%AC', ['é', '€']],
    ['a.b[c]=1', ['a.b[c]', '1']],
  ]
  for (const [query, pairs] of cases) t.same(parsePairs(query), pairs, query)
})

t.test('a part without = has an empty value, an empty part is skipped', async (t) => {
  t.same(parsePairs('verbose&a=&&b=1&'), ['verbose', '', 'a', '', 'b', '1'])
  t.same(parsePairs('&&'), [])
})

t.test('a query written by URLSearchParams is parsed back unchanged', async () => {
  const pairs = fc.array(
    fc.tuple(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string({ unit: 'grapheme' })),
    { maxLength: 20 },
  )
  fc.assert(
    fc.property(pairs, (pairs) => {
      const query = new URLSearchParams(pairs).toString()
      return JSON.stringify(parsePairs(query)) === JSON.stringify(pairs.flat())
    }),
  )
})

t.test('rejects malformed percent-encoding with 400 and names the parameter', async (t) => {
  for (const bad of ['%', '%4', '%zz', '%ff', '%C3', '%ED%A0%80', '%C0%AF']) {
    t.throws(
      () => parsePairs(`limit=${bad}`),
      {
        code: 400,
        id: 'go.mx.api',
        message: `query parameter "limit" must be percent-encoded UTF-8 such as %C3%A9, got "${bad}"`,
      },
      bad,
    )
    t.throws(() => parsePairs(`a=1&${bad}=1`), { code: 400, message: JSON.stringify(bad) }, bad)
  }
})

t.test('rejects a value without a name with 400', async (t) => {
  t.throws(() => parsePairs('=1'), { code: 400, message: /must have a name, got "=1"$/ })
  t.throws(() => parsePairs('a=1&='), { code: 400 })
})

t.test('rejects more than 256 pairs with 400', async (t) => {
  t.equal(parsePairs('a=1&'.repeat(256)).length, 512)
  const tooMany = { code: 400, message: 'expected at most 256 query parameters' }
  t.throws(() => parsePairs('a=1&'.repeat(257)), tooMany)
  t.throws(
    () => parsePairs(Array.from({ length: 10_000 }, (_, i) => `p${i}=${i}`).join('&')),
    tooMany,
  )
  t.throws(() => parsePairs('&'.repeat(16 * 1024 * 1024)), tooMany)
  t.throws(
    () => parsePairs(`${'a=1&'.repeat(256)}b=%zz`),
    tooMany,
    'pairs after the limit are not parsed',
  )
})

t.test('errors have the specified name and id', async (t) => {
  t.throws(() => parsePairs('a=%', 'form field', 'go.mx.rpc'), {
    code: 400,
    id: 'go.mx.rpc',
    message: /^form field "a"/,
  })
  t.throws(() => parseQuery('a[=1', 'go.mx.rpc'), { code: 400, id: 'go.mx.rpc' })
})

t.test('`a.b=1` and `a[b]=1` nest, repeats make arrays', async (t) => {
  const json = JSON.stringify(parseQuery('options.limit=1&options[all]&tag=x&tag=y&id[]=7'))
  t.equal(json, '{"options":{"limit":"1","all":""},"tag":["x","y"],"id":["7"]}')
})

t.test('random queries do not change Object.prototype', async (t) => {
  const word = fc.constantFrom(
    ...['__proto__', 'constructor', 'prototype', 'toString', 'a', '0', '.', '[', ']', '[]', '[0]'],
    ...['=', '&', '%5F%5Fproto%5F%5F', '%5B', '%5D', '%2E', '+', '%', 'é'],
  )
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      try {
        parseQuery(words.join(''))
      } catch (error) {
        if ((error as { code?: number }).code !== 400) return false
      }
      return Object.keys(Object.prototype).length === 0
    }),
    { numRuns: scaleRuns(2000) },
  )
  t.same({}, {})
  t.equal(({} as Record<string, unknown>)['a'], undefined)
})
