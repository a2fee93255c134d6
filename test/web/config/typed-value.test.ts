import t from 'tap'
import { formatInput, parseInput } from '../../../web/config/typed-value.ts'

t.test('parses JSON input as JSON, and any other input as a string', async (t) => {
  const cases: [string, string, string][] = [
    ['5', '5', 'number'],
    ['9007199254740993', '9007199254740993', 'number'],
    ['true', 'true', 'boolean'],
    ['null', 'null', 'null'],
    ['[1]', '[1]', 'array'],
    ['{"a":1}', '{"a":1}', 'object'],
    ['"5"', '"5"', 'string'],
    ['hello "you"', '"hello \\"you\\""', 'string'],
    ['', '""', 'string'],
  ]
  for (const [text, data, kind] of cases) t.strictSame(parseInput(text), { data, kind }, text)
})

t.test('formats a value so that parsing returns the same value', async (t) => {
  t.equal(formatInput('"hello"'), 'hello')
  t.equal(formatInput('"5"'), '"5"')
  t.equal(formatInput('"{}"'), '"{}"')
  t.equal(formatInput('5'), '5')
  for (const data of ['"a\\nb"', '""', '"true"', '[1,"a"]', '1.0'])
    t.equal(parseInput(formatInput(data)).data, data, data)
})
