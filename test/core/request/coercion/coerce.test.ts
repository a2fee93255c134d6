import fc from 'fast-check'
import t from 'tap'
import { coerce } from '../../../../core/request/coercion/coerce.ts'
import { parseSchema } from '../../../../core/request/coercion/schema-shape.ts'
import type { Shape } from '../../../../core/request/coercion/shape.ts'
import type { Fields } from '../../../../core/request/fields.ts'
import { parseQuery } from '../../../../core/request/query/query.ts'

/** JSON of a query coerced by a schema. */
function read(query: string, schema?: object): string {
  return JSON.stringify(coerce(parseQuery(query), schema && toShape(schema)))
}

function toShape(schema: object): Shape {
  return parseSchema(JSON.stringify(schema))!
}

/** Schema of an object with `properties`. */
function object(properties: Record<string, object>): object {
  return { type: 'object', properties }
}

t.test('without a schema JSON scalars are recognized, and other values are strings', async (t) => {
  const cases: [string, string][] = [
    ['123', '123'],
    ['-5', '-5'],
    ['0', '0'],
    ['1.5', '1.5'],
    ['1e3', '1000'],
    ['9007199254740991', '9007199254740991'],
    ['true', 'true'],
    ['false', 'false'],
    ['null', 'null'],
    ['"x"', '"x"'],
    ['"\\u00e9 1"', '"é 1"'],
    ['', '""'],
    ['John', '"John"'],
    ['007', '"007"'],
    ['-', '"-"'],
    ['+1', '"+1"'],
    ['.5', '".5"'],
    ['1.', '"1."'],
    ['0x10', '"0x10"'],
    ['1e400', '"1e400"'],
    ['9007199254740992', '"9007199254740992"'],
    ['-9223372036854775808', '"-9223372036854775808"'],
    ['9007199254740993.0', '"9007199254740993.0"'],
    ['9.007199254740993e15', '"9.007199254740993e15"'],
    ['6.02e23', '6.02e+23'],
    ['NaN', '"NaN"'],
    ['Infinity', '"Infinity"'],
    ['True', '"True"'],
    ['nullx', '"nullx"'],
    ['"x', '"\\"x"'],
    ['"a"b"', '"\\"a\\"b\\""'],
    ['[1]', '"[1]"'],
    ['{"a":1}', '"{\\"a\\":1}"'],
  ]
  for (const [text, json] of cases)
    t.equal(JSON.stringify(coerce({ a: text })), `{"a":${json}}`, text)
  t.equal(read('a.b=1&c=1&c=x&d[0].e=true'), '{"a":{"b":1},"c":[1,"x"],"d":[{"e":true}]}')
})

t.test('query parameters are coerced by the request schema of the endpoint', async (t) => {
  const schema = object({
    name: { type: 'string' },
    limit: { type: 'integer' },
    ratio: { type: 'number' },
    all: { type: 'boolean' },
    color: { enum: ['red', 'green', 3, null] },
    tags: { type: 'array', items: { type: 'string' } },
    options: object({ ids: { type: 'array', items: { type: 'integer' } } }),
    labels: { type: 'object', additionalProperties: { type: 'integer' } },
    point: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }] },
    nothing: { type: 'null' },
  })
  const cases: [string, string][] = [
    ['name=123', '{"name":"123"}'],
    ['name=true', '{"name":"true"}'],
    ['name=', '{"name":""}'],
    ['limit=10', '{"limit":10}'],
    ['limit=-0', '{"limit":0}'],
    ['limit=007', '{"limit":7}'],
    ['ratio=1', '{"ratio":1}'],
    ['ratio=-1.5e3', '{"ratio":-1500}'],
    ['all=true', '{"all":true}'],
    ['all=0', '{"all":false}'],
    ['all', '{"all":true}'],
    ['color=red', '{"color":"red"}'],
    ['color=3', '{"color":3}'],
    ['color=null', '{"color":null}'],
    ['tags=1', '{"tags":["1"]}'],
    ['tags=1&tags=b', '{"tags":["1","b"]}'],
    ['tags[]=1', '{"tags":["1"]}'],
    ['options.ids[1]=2&options[ids][0]=1', '{"options":{"ids":[1,2]}}'],
    ['labels.a=1&labels[b]=2', '{"labels":{"a":1,"b":2}}'],
    ['point=1&point=2&point=3', '{"point":[1,"2",3]}'],
    ['nothing=null', '{"nothing":null}'],
    ['nothing', '{"nothing":null}'],
    ['unknown=1', '{"unknown":1}'],
  ]
  for (const [query, json] of cases) t.equal(read(query, schema), json, query)
})

t.test(
  'rejects a request that does not match with 400 and the path of the first invalid field',
  async (t) => {
    const schema = object({
      name: { type: 'string' },
      n: { type: 'integer' },
      f: { type: 'number' },
      b: { type: 'boolean' },
      z: { type: 'null' },
      i: { type: 'integer', format: 'int32' },
      u: { type: 'integer', format: 'uint32' },
      color: { enum: ['red', 'green'] },
      only: { const: 'x' },
      tags: { type: 'array', items: { type: 'integer' } },
      options: object({
        limit: { type: 'integer' },
        deep: object({ list: { type: 'array', items: object({ x: { type: 'number' } }) } }),
      }),
    })
    const cases: [string, string][] = [
      ['options.limit=x', 'options.limit must be an integer, got "x"'],
      ['n=', 'n must be an integer, got ""'],
      ['n=1.5', 'n must be an integer, got "1.5"'],
      ['n=1e-3', 'n must be an integer, got "1e-3"'],
      ['n=-', 'n must be an integer, got "-"'],
      ['n=1&n=2', 'n must be an integer, got a list of 2'],
      ['n.a=1', 'n must be an integer, got an object'],
      [
        'n=9007199254740992',
        'n must be an integer from -9007199254740991 to 9007199254740991, got "9007199254740992"',
      ],
      [
        'n=9007199254740993.0',
        'n must be an integer from -9007199254740991 to 9007199254740991, got "9007199254740993.0"',
      ],
      ['n=1e400', 'n must be an integer from -9007199254740991 to 9007199254740991, got "1e400"'],
      ['i=2147483648', 'i must be an integer from -2147483648 to 2147483647, got "2147483648"'],
      ['u=-1', 'u must be an integer from 0 to 4294967295, got "-1"'],
      ['f=x', 'f must be a number, got "x"'],
      ['f=Infinity', 'f must be a number, got "Infinity"'],
      ['f=0x1', 'f must be a number, got "0x1"'],
      ['f=1e999', 'f must be a number in the range of a double, got "1e999"'],
      ['b=yes', 'b must be true or false, got "yes"'],
      ['z=0', 'z must be null, got "0"'],
      ['color=blue', 'color must be one of "red", "green", got "blue"'],
      ['only=y', 'only must be "x", got "y"'],
      ['name=a&name=b', 'name must be a string, got a list of 2'],
      ['name.first=a', 'name must be a string, got an object'],
      ['tags=1&tags=b', 'tags[1] must be an integer, got "b"'],
      ['tags.a=1', 'tags must be a list, got an object'],
      ['options=x', 'options must be an object, got "x"'],
      [
        'options.deep.list[0].x=1&options.deep.list[1].x=y',
        'options.deep.list[1].x must be a number, got "y"',
      ],
      ['name=a&b=x&n=y', 'b must be true or false, got "x"'],
    ]
    for (const [query, message] of cases)
      t.throws(
        () => read(query, schema),
        { code: 400, id: 'go.mx.api', message: `request.${message}` },
        query,
      )
    t.throws(() => coerce({ n: 'x' }, toShape(schema), 'greeter'), { code: 400, id: 'greeter' })
    t.throws(() => coerce({}, toShape({ type: 'array' })), {
      message: 'request must be a list, got an object',
    })
  },
)

t.test('an int64 is a number if it is a safe integer, otherwise a string', async (t) => {
  const schema = object({
    i: { type: 'integer', format: 'int64' },
    u: { type: 'integer', format: 'uint64' },
  })
  t.equal(read('i=9007199254740991&u=1', schema), '{"i":9007199254740991,"u":1}')
  t.equal(read('i=1e3&u=1.0', schema), '{"i":1000,"u":1}')
  t.equal(
    read('i=-9223372036854775808&u=18446744073709551615', schema),
    '{"i":"-9223372036854775808","u":"18446744073709551615"}',
  )
  t.equal(read('i=0009223372036854775807', schema), '{"i":"9223372036854775807"}')
  t.throws(() => read('i=9223372036854775808', schema), {
    message: /^request\.i must be an integer from -9223372036854775808 to 9223372036854775807/,
  })
  t.throws(() => read(`i=${'9'.repeat(1_000_000)}`, schema), { code: 400 })
})

t.test('a union uses the first type that matches', async (t) => {
  const schema = object({
    id: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    name: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    limit: { type: ['integer', 'null'] },
    shape: { oneOf: [object({ r: { type: 'number' } }), object({ w: { type: 'integer' } })] },
    list: { anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'integer' } }] },
  })
  t.equal(read('id=1&name=1&limit=null', schema), '{"id":1,"name":"1","limit":null}')
  t.equal(read('id=x&limit=5&list=1&list=2', schema), '{"id":"x","limit":5,"list":[1,2]}')
  t.throws(() => read('limit=x', schema), {
    message: 'request.limit must be an integer or null, got "x"',
  })
  t.throws(() => read('list=x', schema), {
    message: /^request\.list\[0\] must be an integer, got "x"$/,
  })
  t.equal(read('shape.r=1.5&shape.w=x', schema), '{"shape":{"r":1.5,"w":"x"}}')
  t.throws(() => read('shape.r=x&shape.w=y', schema), {
    code: 400,
    message: 'request.shape.r must be a number, got "x"',
  })
})

t.test(
  'a file becomes Base64 if a string is allowed, and is rejected with 400 otherwise',
  async (t) => {
    const file = new Uint8Array(Buffer.from('..1234..')).subarray(2, 6)
    const schema = toShape(object({ data: { type: 'string' }, n: { type: 'integer' } }))
    t.same(coerce({ data: file }, schema), { data: 'MTIzNA==' })
    t.same(coerce({ data: [file, 'x'] }), { data: ['MTIzNA==', 'x'] })
    t.throws(() => coerce({ n: file }, schema), {
      message: 'request.n must be an integer, got a file',
    })
  },
)

t.test('an error truncates long enumerations and values', async (t) => {
  const schema = toShape(object({ a: { enum: Array.from({ length: 1000 }, (_, i) => `v${i}`) } }))
  t.throws(() => coerce({ a: 'y'.repeat(1000) }, schema), { message: /"v15", …, got "y{64}…"$/ })
})

t.test('nested unions and recursive schemas are coerced within seconds', async (t) => {
  const node = {
    anyOf: [
      object({ a: { $ref: '#/$defs/node' } }),
      object({ a: { $ref: '#/$defs/node' }, b: {} }),
      { type: 'integer' },
    ],
  }
  const shape = toShape({ ...object({ a: { $ref: '#/$defs/node' } }), $defs: { node } })
  const before = performance.now()
  t.throws(() => coerce(parseQuery(`${'a.'.repeat(31)}a=x`), shape), { code: 400 })
  t.ok(performance.now() - before < 5000)
  const recursive = toShape({
    ...object({ a: { $ref: '#/$defs/x' } }),
    $defs: { x: { anyOf: [{ $ref: '#/$defs/x' }] } },
  })
  t.throws(() => coerce({ a: 'x' }, recursive), { code: 400 })
})

t.test('JSON of a scalar is coerced to the same value', async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.maxSafeInteger(),
        fc.boolean(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.constant(null),
      ),
      (value) => {
        const text = JSON.stringify(value)
        const { a } = coerce({ a: text })
        return typeof a === 'string'
          ? a === text && !Number.isSafeInteger(value)
          : Object.is(a, (value as number) + 0) || a === value
      },
    ),
  )
})

t.test('names of Object.prototype are ordinary field names', async (t) => {
  const document = coerce(parseQuery('toString=1&valueOf.hasOwnProperty=x') as Fields)
  t.equal(JSON.stringify(document), '{"toString":1,"valueOf":{"hasOwnProperty":"x"}}')
  t.notOk('constructor' in document)
  const schema = object({ a: { type: 'integer' } })
  t.equal(read('toString=x', schema), '{"toString":"x"}', 'no inherited schema')
})
