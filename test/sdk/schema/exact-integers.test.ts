import t from 'tap'
import { Type } from 'typebox'
import type { Schema } from '../../../sdk/schema/schema.ts'
import { Int64, Uint64 } from '../../../sdk/schema/schema-types.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { ServedEndpoint } from '../../../sdk/service/served-endpoint.ts'

function decode(request: Schema | undefined, body: string): unknown {
  const definition = endpoint({ ...(request && { request }), handle: () => null })
  const served = new ServedEndpoint('nums', 'Nums.Get', definition)
  const [text, bytes] = [body, Buffer.from(body)].map((input) => served.decode(input, false))
  t.strictSame(text, bytes, 'text and bytes are decoded identically')
  return text
}

t.test('a 64-bit integer beyond 2^53 is decoded exactly from a number or string', async (t) => {
  for (const digits of ['9007199254740993', '9223372036854775807', '-9223372036854775808']) {
    const request = Type.Object({ id: Int64(), list: Type.Array(Int64()) })
    const expected = { id: BigInt(digits), list: [BigInt(digits), 5n] }
    t.strictSame(decode(request, `{"id":${digits},"list":[${digits},5]}`), expected)
    t.strictSame(decode(request, `{"id":"${digits}","list":["${digits}",5]}`), expected)
  }
  const request = Type.Object({ id: Type.Union([Uint64(), Type.Null()]) })
  t.strictSame(decode(request, '{"id":18446744073709551615}'), { id: 2n ** 64n - 1n })
})

t.test(
  'rejects an integer that a number cannot represent with 400 and the digits sent',
  async (t) => {
    const request = Type.Object({ a: Type.Array(Type.Object({ id: Type.Integer() })) })
    for (const digits of [
      '9007199254740993',
      '9007199254740992',
      '-9223372036854775807',
      '123456789012345678901234567890',
      '9007199254740993.0',
      '9007199254740993e0',
      '9.007199254740993e15',
      '90071992.54740993e8',
      '9007199254740991.4',
      '1.00000000000000001',
      '1e16',
      '1e300',
      '-1E+400',
      '1e-400',
    ]) {
      t.throws(() => decode(request, `{"a":[{"id":1},{"id":${digits}}]}`), {
        code: 400,
        message: `request.a[1].id must be an integer from -9007199254740991 to 9007199254740991, got ${digits}`,
      })
    }
    // Includes unions with other types.
    const optional = Type.Object({ id: Type.Union([Type.Null(), Type.Union([Type.Integer()])]) })
    t.throws(() => decode(optional, '{"id":9007199254740993}'), {
      code: 400,
      message: /request.id must be an integer .* got 9007199254740993$/,
    })
    const small = Type.Object({ id: Int64() })
    t.throws(() => decode(small, '{"id":9223372036854775808}'), {
      code: 400,
      message: /got 9223372036854775808$/,
    })
  },
)

t.test('an integer is accepted in any notation', async (t) => {
  const request = Type.Object({ id: Type.Integer() })
  for (const [text, id] of [
    ['1e3', 1000],
    ['1.0', 1],
    ['5.000000000000000000', 5],
    ['9007199254740991.0', 9007199254740991],
    ['-9.007199254740991e15', -9007199254740991],
  ] as const)
    t.strictSame(decode(request, `{"id":${text}}`), { id })
  t.strictSame(decode(Type.Object({ id: Int64() }), '{"id":9.007199254740993e15}'), {
    id: 9007199254740993n,
  })
})

t.test('rejects a number out of the range of a double with 400 and the digits sent', async (t) => {
  for (const schema of [Type.Number(), Type.String(), Type.Union([Type.Number(), Type.Null()])])
    t.throws(() => decode(Type.Object({ x: schema }), '{"x":-1e400}'), {
      code: 400,
      message: 'request.x must be a number in the range of a double, got -1e400',
    })
})

t.test(
  'a number is rounded to a double; without a schema, large numbers are strings',
  async (t) => {
    t.strictSame(decode(Type.Object({ x: Type.Number() }), '{"x":9007199254740993}'), {
      x: Number('9007199254740993'),
    })
    t.strictSame(decode(undefined, '{"x":9007199254740993,"y":[1e400,1.5]}'), {
      x: '9007199254740993',
      y: ['1e400', 1.5],
    })
  },
)

t.test('digits in strings, and safe integers, are unchanged', async (t) => {
  const body = { text: '12345678901234567890', n: 9007199254740991, f: 0.123_456_789_012_345_68 }
  t.strictSame(decode(undefined, JSON.stringify(body)), body)
})
