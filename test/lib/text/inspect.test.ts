import t from 'tap'
import { inspectShort } from '../../../lib/text/inspect.ts'

t.test('a value is shown as JSON, or as what it is, and shortened', async (t) => {
  t.equal(inspectShort({ a: 'x' }), '{"a":"x"}')
  t.equal(inspectShort(undefined), 'undefined')
  t.equal(
    inspectShort(() => 1),
    'a function',
  )
  t.equal(inspectShort('x'.repeat(100)).length, 80)
})
