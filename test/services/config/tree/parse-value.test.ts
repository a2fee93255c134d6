import t from 'tap'
import { type ConfigInput, parseValue } from '../../../../services/config/tree/parse-value.ts'

const ID = 'config.Config.Set'

/** Maps as objects, for comparisons. */
function toObject(node: ConfigInput): unknown {
  return typeof node === 'string'
    ? node
    : Object.fromEntries([...node].map(([name, child]) => [name, toObject(child)]))
}

const parse = (data: string, path: readonly string[] = []) => toObject(parseValue(data, path, ID))

t.test('converts objects to maps and other JSON values to leaves', async (t) => {
  t.strictSame(parse('{"a":{"b":1,"c":[1,{"d":2}]},"e":null,"f":true,"g":"x","h":{}}'), {
    a: { b: '1', c: '[1,{"d":2}]' },
    e: 'null',
    f: 'true',
    g: '"x"',
    h: {},
  })
  for (const data of ['1', 'true', 'null', '"x"', '[]', '[{},[]]', '""']) t.equal(parse(data), data)
  t.strictSame(parse('{}'), {})
})

t.test('removes whitespace outside strings', async (t) => {
  t.strictSame(parse(' { "a" : [ 1 , { "b c" : "d e" } , [ ] ] ,\n"f" :\t2 } '), {
    a: '[1,{"b c":"d e"},[]]',
    f: '2',
  })
  t.equal(parse(' 5 '), '5')
})

t.test('preserves the notation of numbers of any length', async (t) => {
  for (const data of ['9007199254740993', '-0', '1.0', '1e400', '0.1000000000000000000001']) {
    t.equal(parse(data), data)
    t.strictSame(parse(`{"a":[${data}],"b":${data}}`), { a: `[${data}]`, b: data })
  }
})

t.test('normalizes the escapes of strings', async (t) => {
  t.equal(parse('"\\u003cb\\u003e \\u0026 \\/ \\u0041"'), '"<b> & / A"')
  t.equal(parse('["\\u003c"]'), '["<"]')
  t.equal(parse('"\\u0001\\n\\ud800"'), '"\\u0001\\n\\ud800"')
  t.strictSame(parse('{"\\u0061":1}'), { a: '1' })
})

t.test('converts a string with a JSON object to that object, but no other string', async (t) => {
  t.strictSame(parse(JSON.stringify('{"a":{"b":1}}')), { a: { b: '1' } })
  t.strictSame(parse(JSON.stringify(' {} ')), {})
  for (const text of ['[1]', '1', 'true', '{a}', '{"a":1', '{"a":1} x', '"{}"'])
    t.equal(parse(JSON.stringify(text)), JSON.stringify(text))
  t.strictSame(
    parse('{"a":"{\\"b\\":1}"}'),
    { a: '"{\\"b\\":1}"' },
    'a string inside an object stays text',
  )
})

t.test('reports the reason for a rejection', async (t) => {
  const expectRejected = (data: string, message: RegExp, path: readonly string[] = []) =>
    t.throws(() => parse(data, path), { id: ID, code: 400, message }, data.slice(0, 80))
  expectRejected('', /^request\.value\.data must be JSON/)
  expectRejected('{', /^request\.value\.data must be JSON: expected a name .* position 1/)
  expectRejected('hello', /^request\.value\.data must be JSON/)
  expectRejected('{"__proto__":1}', /must not contain the name __proto__/)
  expectRejected('{"a":{"\\u005f_proto__":1}}', /must not contain the name __proto__/)
  expectRejected('[{"__proto__":1}]', /must not contain the name __proto__/)
  expectRejected('{"a":{"constructor":1}}', /must not contain the name "constructor": names must/)
  expectRejected('{"prototype":1}', /must not contain the name "prototype"/)
  expectRejected('{"a.b":1}', /must not contain the name "a\.b"/)
  expectRejected('{"":1}', /must not contain the name ""/)
  expectRejected('{"\\n":1}', /must not contain the name "\\n"/)
  expectRejected('{"a":1,"a":2}', /must not contain the duplicate name "a"/)
  expectRejected('[{"a":1,"\\u0061":2}]', /must not contain the duplicate name "a"/)
  expectRejected(JSON.stringify('{"a":1,"a":2}'), /must not contain the duplicate name "a"/)
  expectRejected(JSON.stringify('{"__proto__":1}'), /must not contain the name __proto__/)
  expectRejected(`{"${'a'.repeat(1020)}":1}`, /must not contain paths longer than 1024 bytes/, [
    'abcd',
  ])
})

t.test('limits nesting to 32 levels including the path', async (t) => {
  const nested = (depth: number) => '{"a":'.repeat(depth) + 1 + '}'.repeat(depth)
  const list = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const tooDeep = { code: 400, message: /must not nest deeper than 32/ }
  t.ok(parse(nested(32)))
  t.throws(() => parse(nested(33)), tooDeep)
  t.ok(parse(nested(30), ['a', 'b']))
  t.throws(() => parse(nested(31), ['a', 'b']), tooDeep)
  t.ok(parse(list(31), ['a']))
  t.throws(() => parse(list(32), ['a']), tooDeep)
  t.throws(() => parse(nested(10_000)), { code: 400, message: /must not nest deeper/ })
  t.throws(() => parse(JSON.stringify(nested(10_000))), { code: 400 })
})
