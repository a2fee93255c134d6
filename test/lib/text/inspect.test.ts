import t from 'tap'
import { show } from '../../../lib/text/inspect.ts'

t.test('a value is shown as JSON, or as what it is, and shortened', async (t) => {
  t.equal(show({ a: 'x' }), '{"a":"x"}')
  t.equal(show(undefined), 'undefined')
  t.equal(
    show(() => 1),
    'a function',
  )
  t.equal(show('x'.repeat(100)).length, 80)
})
