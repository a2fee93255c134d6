import fc from 'fast-check'
import t from 'tap'
import { formatJson, parseInteger } from '../../../core/request/int64.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 64n - 1n

t.test('an integer is a number while it is safe, else a string', async (t) => {
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
    ['1.0', undefined],
    ['1e3', undefined],
    [' 1', undefined],
    ['0x1', undefined],
    ['--1', undefined],
    ['1n', undefined],
    ['١', undefined],
  ]
  for (const [text, wanted] of cases) {
    const got = parseInteger(text, MIN, MAX)
    t.ok(Object.is(got, wanted), `${text.slice(0, 40)}: ${got}`)
  }
})

t.test('bounds hold for small and large integers', async (t) => {
  t.equal(parseInteger('128', -128n, 127n), undefined)
  t.equal(parseInteger('-128', -128n, 127n), -128)
  t.equal(parseInteger('-1', 0n, MAX), undefined)
})

t.test('every 64-bit integer is kept to the digit', async () => {
  fc.assert(
    fc.property(fc.bigInt({ min: MIN, max: MAX }), (value) => {
      const read = parseInteger(`${value}`, MIN, MAX)
      return BigInt(read!) === value && (typeof read === 'number') === Number.isSafeInteger(read)
    }),
  )
})

t.test(
  'bigints are emitted as a number while they are safe integers, else as strings',
  async (t) => {
    t.equal(
      formatJson({ a: 1n, b: [2n ** 53n, -(2n ** 53n) + 1n], c: { d: 'x', e: 1.5, f: undefined } }),
      '{"a":1,"b":["9007199254740992",-9007199254740991],"c":{"d":"x","e":1.5}}',
    )
    t.equal(formatJson({ toJSON: () => 5n }), '5')
  },
)
