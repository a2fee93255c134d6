import t from 'tap'
import { Type } from 'typebox'
import { compileSchema } from '../../../sdk/schema/schema.ts'
import { Bytes, Int64, Uint64 } from '../../../sdk/schema/schema-types.ts'

const compiled = compileSchema(
  Type.Object({
    id: Type.Optional(Int64()),
    size: Type.Optional(Uint64({ description: 'Bytes.' })),
    data: Type.Optional(Bytes()),
  }),
  'request',
)
const decode = (value: unknown): unknown => compiled.decode(value)
const encode = (value: unknown): unknown => compiled.encode(value)

t.test('int64 is decoded from a number or string to a bigint', async (t) => {
  for (const [sent, id] of [
    [5, 5n],
    ['5', 5n],
    [-5, -5n],
    ['0', 0n],
    [Number.MAX_SAFE_INTEGER, 2n ** 53n - 1n],
    ['9223372036854775807', 2n ** 63n - 1n],
    ['-9223372036854775808', -(2n ** 63n)],
  ] as const) {
    t.strictSame(decode({ id: sent }), { id })
  }
})

t.test('int64 is encoded as a number if it is a safe integer, otherwise as a string', async (t) => {
  t.strictSame(encode({ id: 5n }), { id: 5 })
  t.strictSame(encode({ id: 2n ** 53n - 1n }), { id: Number.MAX_SAFE_INTEGER })
  t.strictSame(encode({ id: 2n ** 53n }), { id: '9007199254740992' })
  t.strictSame(encode({ id: -(2n ** 63n) }), { id: '-9223372036854775808' })
  t.strictSame(encode({ id: 7 }), { id: 7 }, 'a safe number is accepted')
})

t.test('an invalid or inexact int64 is rejected', async (t) => {
  for (const id of [
    1.5,
    9007199254740992,
    '',
    ' 5',
    '5 ',
    '+5',
    '0x10',
    '05',
    '1e3',
    '5n',
    '9223372036854775808',
    '1'.repeat(100_000),
    true,
    null,
    [],
  ]) {
    t.throws(() => decode({ id }), /^request\.id must be/, JSON.stringify(id).slice(0, 30))
  }
  t.throws(() => encode({ id: 2n ** 63n }), /id must be an int64/)
  t.throws(() => encode({ id: 1.5 }), /id must be an integer or a string/)
})

t.test('uint64 is limited to 0 to 2^64 - 1', async (t) => {
  t.strictSame(decode({ size: '18446744073709551615' }), { size: 2n ** 64n - 1n })
  for (const size of [-1, '-1', '18446744073709551616'])
    t.throws(() => decode({ size }), /^request\.size must be a uint64/)
})

t.test('bytes are base64 in either alphabet, decoded to a Uint8Array', async (t) => {
  const bytes = Buffer.from([0xfb, 0xff, 0xfe, 0x01])
  for (const text of ['+//+AQ==', '-__-AQ==', '-__-AQ'])
    t.strictSame(decode({ data: text }), { data: bytes })
  t.strictSame(decode({ data: '' }), { data: Buffer.alloc(0) })
  t.strictSame(encode({ data: new Uint8Array(bytes) }), { data: '+//+AQ==' })
  const part = new Uint8Array([1, 2, 3, 4]).subarray(1, 3)
  t.strictSame(encode({ data: part }), { data: 'AgM=' }, 'only the bytes of a subarray')
  for (const data of ['A', 'AAAA=', '*', 'AA==AA==', 'A A', 5, `${'A'.repeat(100_000)}*`])
    t.throws(() => decode({ data }), /^request\.data must be/)
  t.throws(() => encode({ data: [1, 2] }), /data must be a string, got \[1,2\]/)
})

t.test('the JSON Schema describes the wire format', async (t) => {
  t.strictSame(compiled.jsonSchema?.properties, {
    id: { type: ['integer', 'string'], format: 'int64' },
    size: { type: ['integer', 'string'], format: 'uint64', description: 'Bytes.' },
    data: { type: 'string', contentEncoding: 'base64' },
  })
})
