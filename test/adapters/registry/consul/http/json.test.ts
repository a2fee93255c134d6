import t from 'tap'
import {
  isRecord,
  readEndpoint,
  readMap,
  readText,
} from '../../../../../adapters/registry/consul/http/json.ts'

t.test('accepts only objects as records', async (t) => {
  t.ok(isRecord({}))
  for (const value of [null, [], 'x', 7, undefined]) t.notOk(isRecord(value))
})

t.test('reads only own string properties', async (t) => {
  t.equal(readText({ a: 'x' }, 'a'), 'x')
  for (const key of ['b', 'toString', '__proto__']) t.equal(readText({ b: 7 }, key), '')
})

t.test('reads at most 256 strings of a map and ignores __proto__', async (t) => {
  t.same(readMap(JSON.parse('{"a": "x", "b": 7, "c": null, "__proto__": "y"}')), { a: 'x' })
  t.same(readMap(['x']), {})
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, 'x']))
  t.equal(Object.keys(readMap(many)).length, 256)
})

t.test('requires the name of an endpoint and defaults everything else', async (t) => {
  const NO_VALUE = { name: '', type: '', values: [] }
  t.same(readEndpoint({ name: 'A' }), {
    name: 'A',
    request: NO_VALUE,
    response: NO_VALUE,
    metadata: {},
  })
  const request = { name: 'R', type: 'R', values: [{ name: 'id', type: 'string', values: [] }] }
  t.same(readEndpoint({ name: 'A', request: { ...request, extra: 1 } }).request, request)
  t.same(readEndpoint({ name: 'A', request: { values: [7, null] } }).request.values, [
    NO_VALUE,
    NO_VALUE,
  ])
  for (const value of [{}, { name: '' }, { name: 7 }])
    t.throws(() => readEndpoint(value), { name: 'SyntaxError', message: /must have a name/ })
})

t.test('limits values to a depth of 32', async (t) => {
  let value: object = { name: 'x', type: 'x', values: [] }
  for (let i = 0; i < 100; i++) value = { name: 'x', type: 'x', values: [value] }
  let depth = 0
  let inner = readEndpoint({ name: 'A', request: value }).request
  for (; inner.values[0] !== undefined; inner = inner.values[0]) depth++
  t.equal(depth, 32)
})

t.test('reuses a valid value and reads any other value field by field', async (t) => {
  const inner = { name: 'id', type: 'string', values: [] }
  const valid = { name: 'R', type: 'R', values: [inner] }
  t.equal(readEndpoint({ name: 'A', request: valid }).request, valid)
  const read = (request: unknown): string =>
    JSON.stringify(readEndpoint({ name: 'A', request }).request)
  const { name, type, values } = valid
  for (const invalid of [
    { values, type, name },
    { ...valid, extra: 1 },
    { ...valid, values: [{ ...inner, extra: 1 }] },
    JSON.parse('{"name":"R","type":"R","values":[{"name":"id","type":"string"}],"__proto__":1}'),
  ])
    t.equal(read(invalid), JSON.stringify(valid))
  t.equal(read({ name, type: 7, values }), JSON.stringify({ name, type: '', values }))
  t.equal(read({ name, type, values: 'x' }), JSON.stringify({ name, type, values: [] }))
})
