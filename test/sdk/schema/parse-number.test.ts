import t from 'tap'
import { isIntegerType, parseInteger, parseNumber } from '../../../sdk/schema/parse-number.ts'

t.test(
  'parses decimal, hexadecimal, octal and binary integers; integers beyond 2^53 remain digits',
  (t) => {
    const cases = [
      ['0x2a', 'int64', 42],
      ['-0b101', 'int64', -5],
      ['+0o17', 'int32', 15],
      ['9223372036854775807', 'int64', '9223372036854775807'],
      ['18446744073709551615', 'uint64', '18446744073709551615'],
      ['9007199254740991', 'int64', 9007199254740991],
      ['1e3', 'int32', 1000],
      ['9007199254740993.0', 'int64', '9007199254740993'],
    ] as const
    for (const [text, type, value] of cases) t.equal(parseInteger(text, type), value, text)
    t.end()
  },
)

t.test('an invalid number is rejected with the expected form', (t) => {
  const cases = [
    ['', 'int64', 'must be an int64 such as 42 or 0x2a, got ""'],
    ['1.5', 'int32', 'must be an int32 such as 42 or 0x2a, got "1.5"'],
    [
      ...['9007199254740993.0', 'integer'],
      'must be an integer such as 42 or 0x2a, got "9007199254740993.0"',
    ],
    ['-1', 'uint32', 'must be an uint32, from 0 to 4294967295, got "-1"'],
    ['2147483648', 'int32', 'must be an int32, from -2147483648 to 2147483647, got "2147483648"'],
  ] as const
  for (const [text, type, message] of cases)
    t.throws(() => parseInteger(text, type), { name: 'RangeError', message }, text)
  for (const text of ['', 'x', '1e999', 'Infinity', '0x1'])
    t.throws(() => parseNumber(text), { message: /^must be a number such as 1.5, got / }, text)
  t.equal(parseNumber('-.5e1'), -5)
  t.end()
})

t.test('recognizes integer types by name', (t) => {
  t.same(['int32', 'uint64', 'float', 'constructor', undefined].filter(isIntegerType), [
    ...['int32', 'uint64'],
  ])
  t.end()
})
