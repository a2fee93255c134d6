import fc from 'fast-check'
import t from 'tap'
import { formatInt64Json, parseInteger } from '../../../../core/request/json/int64.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 64n - 1n

t.test(
  'parseInteger returns a number if it is safe, otherwise a string, or undefined if invalid',
  async (t) => {
    const cases: [string, number | string | undefined][] = [
      ['0', 0],
      ['-0', 0],
      ['42', 42],
      ['-42', -42],
      ['0042', 42],
      ['-007', -7],
      ['000', 0],
      ['9007199254740991', 9007199254740991],
      ['9007199254740992', '9007199254740992'],
      ['9007199254740993', '9007199254740993'],
      ['-09007199254740993', '-9007199254740993'],
      ['18446744073709551615', '18446744073709551615'],
      ['18446744073709551616', undefined],
      ['-9223372036854775809', undefined],
      [`${'0'.repeat(100_000)}1`, 1],
      ['9'.repeat(10_000_000), undefined],
      ['', undefined],
      ['-', undefined],
      ['+1', undefined],
      ['1.0', 1],
      ['-0.0e9', 0],
      ['1e3', 1000],
      ['1.50e1', 15],
      ['1200e-2', 12],
      ['9007199254740991.000', 9007199254740991],
      ['9007199254740993.0', '9007199254740993'],
      ['9.007199254740993e15', '9007199254740993'],
      ['-90071992.54740993e8', '-9007199254740993'],
      [`${'0'.repeat(100)}.${'0'.repeat(100)}1e101`, 1],
      ['1.5', undefined],
      ['1.00000000000000001', undefined],
      ['1e300', undefined],
      ['1e-400', undefined],
      ['1e99999999999', undefined],
      [`1.${'0'.repeat(10_000_000)}1`, undefined],
      ['1.', undefined],
      ['.5e1', undefined],
      ['1e', undefined],
      ['e1', undefined],
      [' 1', undefined],
      ['0x1', undefined],
      ['--1', undefined],
      ['1n', undefined],
      ['١', undefined],
    ]
    for (const [text, expected] of cases) {
      const received = parseInteger(text, MIN, MAX)
      t.ok(Object.is(received, expected), `${text.slice(0, 40)}: ${received}`)
    }
  },
)

t.test('parseInteger returns undefined for integers out of bounds', async (t) => {
  t.equal(parseInteger('128', -128n, 127n), undefined)
  t.equal(parseInteger('-128', -128n, 127n), -128)
  t.equal(parseInteger('-1', 0n, MAX), undefined)
})

t.test('every 64-bit integer is parsed without loss of digits', async () => {
  fc.assert(
    fc.property(fc.bigInt({ min: MIN, max: MAX }), (value) => {
      const read = parseInteger(`${value}`, MIN, MAX)
      return BigInt(read!) === value && (typeof read === 'number') === Number.isSafeInteger(read)
    }),
  )
})

t.test(
  'a bigint is formatted as a number if it is a safe integer, otherwise as a string',
  async (t) => {
    t.equal(
      formatInt64Json({
        a: 1n,
        b: [2n ** 53n, -(2n ** 53n) + 1n],
        c: { d: 'x', e: 1.5, f: undefined },
      }),
      '{"a":1,"b":["9007199254740992",-9007199254740991],"c":{"d":"x","e":1.5}}',
    )
    t.equal(formatInt64Json({ toJSON: () => 5n }), '5')
  },
)
