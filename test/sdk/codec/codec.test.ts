import t from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import { createProtobufCodec, json } from '../../../sdk/codec/codec.ts'

t.test('JSON is decoded from text or bytes; an empty body is an empty object', async (t) => {
  t.strictSame(json.decode('{"a":1}', 'greeter'), { a: 1 })
  t.strictSame(json.decode(Buffer.from('{"a":"ü"}'), 'greeter'), { a: 'ü' })
  t.strictSame(json.decode('', 'greeter'), {})
  t.strictSame(json.decode(new Uint8Array(0), 'greeter'), {})
  t.equal(json.encode({ a: 1 }), '{"a":1}')
  t.equal(json.encode(undefined), '{}')
  t.equal(json.encode(null), 'null')
})

t.test('rejects invalid or too deeply nested JSON with 400', async (t) => {
  for (const body of ['{', 'x', '{"__proto__":1}', '['.repeat(100_000)]) {
    try {
      json.decode(body, 'greeter')
      t.fail(`${body.slice(0, 20)} was read`)
    } catch (error) {
      t.type(error, GatewayError)
      t.match(error, { id: 'greeter', code: 400 })
    }
  }
})

t.test(
  'an int64 is encoded as a number if it is a safe integer, otherwise as a string',
  async (t) => {
    t.equal(
      json.encode({ a: 5n, b: 2n ** 53n, c: [-1n] }),
      '{"a":5,"b":"9007199254740992","c":[-1]}',
    )
    const loop: Record<string, unknown> = {}
    loop['self'] = loop
    t.throws(() => json.encode(loop), /circular/)
  },
)

t.test('a value that JSON would drop silently is rejected', async (t) => {
  for (const [value, kind] of [
    [Number.NaN, 'NaN'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
    [() => 1, 'Function'],
    [Symbol('a'), 'Symbol'],
    [new Map([['a', 1]]), 'Map'],
    [new Set([1]), 'Set'],
    [new Error('returned, not thrown'), 'Error'],
    [(function* () {})(), 'Generator'],
  ] as const)
    t.throws(() => json.encode(value), {
      name: 'TypeError',
      message: `a message must be a JSON value, got ${kind}`,
    })
  class Empty {}
  const silent = { toJSON: () => undefined }
  for (const value of [{}, new Empty(), Object.create(null), silent])
    t.equal(json.encode(value), '{}')
  t.equal(json.encode({ toJSON: () => null }), 'null')
})

t.test('protobuf: rejects a malformed message with 400', async (t) => {
  const codec = createProtobufCodec({
    decode(bytes) {
      if (bytes[0] === 0xff) throw new RangeError('index out of range')
      return { length: bytes.length }
    },
    encode: (value) => Buffer.from(JSON.stringify(value)),
  })
  t.equal(codec.contentType, 'application/protobuf')
  t.strictSame(codec.decode(Buffer.from('abc'), 'greeter'), { length: 3 })
  t.strictSame(codec.decode('abc', 'greeter'), { length: 3 })
  t.equal(String(codec.encode(undefined)), '{}')
  t.throws(() => codec.decode(Buffer.from([0xff]), 'greeter'), {
    id: 'greeter',
    code: 400,
    message: 'request body must be the protobuf message: index out of range',
  })
})
