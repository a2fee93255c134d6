import fc from 'fast-check'
import t from 'tap'
import { findJsonFault } from '../../../../core/request/json/error-position.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

t.test('the first syntax error is reported with its position', async (t) => {
  const cases: [string, string][] = [
    ['', 'expected a value at position 0, got the end'],
    ['  ', 'expected a value at position 2, got the end'],
    ['\u00a01', 'expected a value at position 0, got "\u00a0"'],
    ['nul', 'expected a value at position 0, got "n"'],
    ['truex', 'expected the end at position 4, got "x"'],
    ['01', 'expected the end at position 1, got "1"'],
    ['1.', 'expected the end at position 1, got "."'],
    ['-', 'expected a value at position 0, got "-"'],
    ["'a'", 'expected a value at position 0, got "\'"'],
    ['[', 'expected a value at position 1, got the end'],
    ['[1 2]', 'expected , or ] at position 3, got "2"'],
    ['[1,]', 'expected a value at position 3, got "]"'],
    ['[1}', 'expected , or ] at position 2, got "}"'],
    ['[]]', 'expected the end at position 2, got "]"'],
    ['{a:1}', 'expected a name in double quotes at position 1, got "a"'],
    ['{"a" 1}', 'expected : at position 5, got "1"'],
    ['{"a":1,}', 'expected a name in double quotes at position 7, got "}"'],
    ['{"a":1 "b":2}', 'expected , or } at position 7, got "\\""'],
    ['{"a":[1,{"b":tru}]}', 'expected a value at position 13, got "t"'],
    ['"abc', 'expected a closing double quote at position 4, got the end'],
    ['"abc\\', 'expected a closing double quote at position 5, got the end'],
    ['"a\\x"', 'malformed escape at position 2'],
    ['"a\\u12g4"', 'malformed escape at position 2'],
    ['"a\nb"', 'unescaped control character at position 2'],
    ['{"a\tb":1}', 'unescaped control character at position 3'],
    ['["😀", 😀]', 'expected a value at position 7, got "😀"'],
  ]
  for (const [text, fault] of cases) t.equal(findJsonFault(text), fault, text)
})

t.test('a syntax error is found if and only if JSON.parse throws', async () => {
  const piece = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '"',
      '\\',
      '"a"',
      '{"a":1',
      '0',
      '1',
      '-',
      '.5',
      'e3',
      ' ',
      '\n',
      'true',
      'null',
      '\\u0041',
      '\u0001',
      'x',
    ],
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
        fc.json(),
      ),
      (text) => {
        let valid = true
        try {
          JSON.parse(text)
        } catch {
          valid = false
        }
        const isValid = /^expected the end at position \d+, got the end$/.test(findJsonFault(text))
        return valid === isValid
      },
    ),
    { numRuns: scaleRuns(10_000) },
  )
})

t.test('an error at the end of 16 MiB is found in one pass', async (t) => {
  const size = 16 * 1024 * 1024
  const before = process.cpuUsage()
  t.match(findJsonFault(`"${'\\n'.repeat(size / 4)}`), /position/)
  t.match(findJsonFault(`"${'x'.repeat(size)}`), /position/)
  t.match(findJsonFault('['.repeat(size)), /position/)
  t.match(findJsonFault(`${'1'.repeat(size)}x`), /position/)
  const { user, system } = process.cpuUsage(before)
  t.ok(user + system < 10_000_000, `${user + system} us of CPU time`)
})
