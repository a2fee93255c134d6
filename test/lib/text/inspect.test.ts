import t from 'tap'
import { inspectShort } from '../../../lib/text/inspect.ts'

t.test('a value is formatted as JSON or by its type, in at most 80 characters', async (t) => {
  t.equal(inspectShort({ a: 'x' }), '{"a":"x"}')
  t.equal(inspectShort(undefined), 'undefined')
  t.equal(
    inspectShort(() => 1),
    'a function',
  )
  t.equal(inspectShort('x'.repeat(100)).length, 80)
})
