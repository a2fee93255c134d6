import t from 'tap'
import { toJsonText } from '../../../sdk/codec/json-text.ts'

const RULE = 'value must be JSON'

t.test('a JSON value is serialized', async (t) => {
  for (const value of [{ a: [1] }, 'text', 5, null])
    t.equal(toJsonText(value, RULE), JSON.stringify(value))
})

t.test('a value that is not JSON is rejected with the reason', async (t) => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  for (const [value, reason] of [
    [undefined, ', got undefined'],
    [() => {}, ', got function'],
    [5n, ': it contains a bigint: send it as a string'],
    [{ a: [5n] }, ': it contains a bigint: send it as a string'],
    [circular, ': Converting circular structure to JSON'],
  ] as const)
    t.throws(() => toJsonText(value, RULE), { name: 'TypeError', message: `${RULE}${reason}` })
})
