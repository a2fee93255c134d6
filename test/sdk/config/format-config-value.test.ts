import t from 'tap'
import { formatConfigValue } from '../../../sdk/config/format-config-value.ts'

t.test('a value is formatted as JSON', async (t) => {
  for (const [value, json] of [
    ['a <b>', '"a <b>"'],
    [5, '5'],
    [-0, '0'],
    [null, 'null'],
    [{ a: [1, { b: true }], none: undefined }, '{"a":[1,{"b":true}]}'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [new Map(), '{}'],
  ] as const)
    t.equal(formatConfigValue(value), json)
})

t.test('a bigint becomes a number, or a string beyond 2^53', async (t) => {
  t.equal(formatConfigValue(5n), '5')
  t.equal(formatConfigValue({ a: 2n ** 60n, b: [-3n] }), '{"a":"1152921504606846976","b":[-3]}')
})

t.test('a value that JSON would change or drop is rejected', async (t) => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  for (const [value, description] of [
    [undefined, 'undefined'],
    [() => 1, 'function'],
    [Symbol('x'), 'symbol'],
    [Number.NaN, 'NaN'],
    [{ a: [Number.POSITIVE_INFINITY] }, 'Infinity'],
    [new Uint8Array(2), 'bytes'],
    [{ a: Buffer.from('x') }, 'bytes'],
    [{ a: new ArrayBuffer(2) }, 'bytes'],
  ] as const)
    t.throws(() => formatConfigValue(value), {
      name: 'TypeError',
      message: `a configuration value must be a JSON value, got ${description}`,
    })
  t.throws(() => formatConfigValue(circular), TypeError)
})
