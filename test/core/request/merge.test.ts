import fc from 'fast-check'
import t from 'tap'
import type { JsonObject, JsonValue } from '../../../core/request/json/json.ts'
import { mergeFields, mergeJson } from '../../../core/request/merge.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'

t.test('winner fields replace base fields, objects are merged, lists are replaced', async (t) => {
  const base = { a: '1', o: { x: '1', y: '1' }, l: ['1', '2'], v: { x: '1' }, w: '1' }
  const winner = { a: '2', o: { y: '2', z: '2' }, l: ['3'], v: '2', w: { x: '2' }, n: '2' }
  const merged = mergeFields(base, winner)
  t.equal(
    JSON.stringify(merged),
    '{"a":"2","o":{"x":"1","y":"2","z":"2"},"l":["3"],"v":"2","w":{"x":"2"},"n":"2"}',
  )
  t.same(base.o, { x: '1', y: '1' }, 'base is unchanged')
  t.notOk('toString' in merged)
  const file = new Uint8Array(1)
  t.equal(mergeFields({ f: { a: '1' } }, { f: file })['f'], file)
  t.equal(JSON.stringify(mergeFields({}, { toString: '1' })), '{"toString":"1"}')
})

t.test('body fields take precedence over query fields', async (t) => {
  const base = { name: 'query', limit: 1, options: { all: true, deep: { a: 1, b: 1 } } }
  const cases: [string, string][] = [
    ['{}', '{"name":"query","limit":1,"options":{"all":true,"deep":{"a":1,"b":1}}}'],
    ['{"name":"body","limit":2,"options":3}', '{"name":"body","limit":2,"options":3}'],
    ['{"name":"body","options":[]}', '{"limit":1,"name":"body","options":[]}'],
    [
      '{"options":{"deep":{"b":2},"x":0},"z":1}',
      '{"name":"query","limit":1,"options":{"all":true,"deep":{"a":1,"b":2},"x":0},"z":1}',
    ],
    [
      ' { "options" : { } , "\\u006eame" : "body" } ',
      ' {"limit":1, "options" : {"all":true,"deep":{"a":1,"b":1} } , "\\u006eame" : "body" } ',
    ],
  ]
  for (const [body, merged] of cases) {
    t.equal(mergeJson(base, body), merged, body)
    t.equal(mergeJson(base, Buffer.from(body)), merged, body)
  }
})

t.test('null in the body is a value', async (t) => {
  t.equal(
    mergeJson({ name: 'query', o: { a: 1 } }, '{"name":null,"o":null}'),
    '{"name":null,"o":null}',
  )
})

t.test('rejects a body that is not an object with 400 if there are query fields', async (t) => {
  for (const body of ['[1]', ' "x"', 'null', '1']) {
    t.equal(mergeJson({}, body), body)
    t.throws(
      () => mergeJson({ a: 1 }, body, 'greeter'),
      {
        code: 400,
        id: 'greeter',
        message: /must be a JSON object, because query or path fields are merged into it/,
      },
      body,
    )
  }
})

t.test('numbers of the body are preserved digit by digit', async (t) => {
  t.equal(
    mergeJson({ a: 1 }, '{"id":9223372036854775807,"f":1.0,"x":[1E400,-0]}'),
    '{"a":1,"id":9223372036854775807,"f":1.0,"x":[1E400,-0]}',
  )
})

t.test('rejects a malformed or too deeply nested body with 400', async (t) => {
  t.throws(() => mergeJson({ a: 1 }, '{"a":1,}'), { code: 400, message: /position 7/ })
  t.throws(() => mergeJson({ a: 1 }, '{"__proto__":{"x":1}}'), { code: 400, message: /__proto__/ })
  t.throws(() => mergeJson({ a: 1 }, '['.repeat(100)), { code: 400, message: /deeper/ })
  t.throws(() => mergeJson({ a: 1 }, Buffer.from([0xff])), { code: 400, message: /UTF-8/ })
  t.throws(() => mergeJson({ a: 1 }, 'x', 'greeter'), { code: 400, id: 'greeter' })
})

t.test('mergeJson is a JSON merge patch (RFC 7396) except for null', async () => {
  const name = fc.constantFrom('a', 'b', 'c', 'toString', 'é"')
  const { value } = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
    value: fc.oneof(
      fc.integer(),
      fc.constant(null),
      fc.constant('}'),
      fc.array(tie('value'), { maxLength: 2 }),
      tie('object'),
    ),
    object: fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  }))
  const object = fc.dictionary(name, value, { maxKeys: 5 })
  fc.assert(
    fc.property(object, object, fc.nat({ max: 2 }), (base, body, indent) => {
      const merged = mergeJson(base, JSON.stringify(body, null, indent))
      return sorted(JSON.parse(merged)) === sorted(patch(base, body))
    }),
    { numRuns: scaleRuns(2000) },
  )
})

t.test('a large body below many levels of the query is parsed once', async (t) => {
  let base: JsonObject = { last: 1 }
  let body = JSON.stringify('x'.repeat(4 * 1024 * 1024))
  for (let i = 0; i < 31; i++) {
    base = { a: base }
    body = `{"a":${body}}`
  }
  const before = performance.now()
  t.equal(mergeJson(base, body).length, body.length)
  t.ok(performance.now() - before < 10_000, `${performance.now() - before} ms`)
})

/** JSON merge patch (RFC 7396 §2) without removal by null. */
function patch(target: JsonValue | undefined, with_: JsonValue): JsonValue {
  if (!isObject(with_)) return with_
  const result: JsonObject = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(with_))
    result[name] = patch(Object.hasOwn(result, name) ? result[name] : undefined, value)
  return result
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** JSON with sorted names. */
function sorted(value: JsonValue): string {
  return JSON.stringify(value, (_name, inner: JsonValue) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
