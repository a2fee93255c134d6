import t from 'tap'
import { MAX_LEVELS, TOO_DEEP } from '../../../web/json/json-levels.ts'
import { formatJson, parseJson } from '../../../web/json/json-source.ts'

t.test('integers beyond 2^53 are strings in the value and formatted exactly', async (t) => {
  const value = parseJson('{"id":9007199254740993,"text":"9007199254740993","far":1e400}')
  t.equal((value as { id: string }).id, '9007199254740993')
  t.equal(
    formatJson(value),
    '{\n  "id": 9007199254740993,\n  "text": "9007199254740993",\n  "far": 1e400\n}',
  )
})

t.test('formats other JSON like JSON.stringify', async (t) => {
  t.equal(formatJson(parseJson('{"a":[1,"x"]}')), JSON.stringify({ a: [1, 'x'] }, null, 2))
  t.equal(formatJson('x'), '"x"')
  t.equal(formatJson(undefined), '')
})

t.test('rejects JSON that is nested too deep', async (t) => {
  const nest = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
  t.doesNotThrow(() => formatJson(parseJson(nest(MAX_LEVELS))))
  t.throws(() => parseJson(nest(20_000)), { name: 'RangeError', message: TOO_DEEP })
})
