import t from 'tap'
import { readTyped, toTyped } from '../../../web/config/typed-value.ts'

t.test('what is JSON is that, anything else a text', async (t) => {
  const cases: [string, string, string][] = [
    ['5', '5', 'number'],
    ['9007199254740993', '9007199254740993', 'number'],
    ['true', 'true', 'boolean'],
    ['null', 'null', 'null'],
    ['[1]', '[1]', 'list'],
    ['{"a":1}', '{"a":1}', 'object'],
    ['"5"', '"5"', 'text'],
    ['hello "you"', '"hello \\"you\\""', 'text'],
    ['', '""', 'text'],
  ]
  for (const [typed, data, kind] of cases) t.strictSame(readTyped(typed), { data, kind }, typed)
})

t.test('a value is typed as it was, read again it is the same', async (t) => {
  t.equal(toTyped('"hello"'), 'hello')
  t.equal(toTyped('"5"'), '"5"')
  t.equal(toTyped('"{}"'), '"{}"')
  t.equal(toTyped('5'), '5')
  for (const data of ['"a\\nb"', '""', '"true"', '[1,"a"]', '1.0'])
    t.equal(readTyped(toTyped(data)).data, data, data)
})
