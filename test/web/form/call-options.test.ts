import t from 'tap'
import { parseMetadataLines, parseTimeout } from '../../../web/form/call-options.ts'

t.test('metadata: a line each, names in lower case', (t) => {
  t.same(parseMetadataLines('X-Customer: 7: a \n\n x-b:\n'), [
    ['x-customer', '7: a'],
    ['x-b', ''],
  ])
  for (const [text, message] of [
    ['nothing', 'a line must be name: value, got "nothing"'],
    [': x', /a line must be name: value/],
    ['a b: x', /metadata name must be a token/],
    ['a: \u20ac', /metadata a must hold one byte a character/],
  ] as const)
    t.throws(() => parseMetadataLines(text), { message }, text)
  t.end()
})

t.test('time limit: whole milliseconds, or none', (t) => {
  t.equal(parseTimeout(' '), undefined)
  t.equal(parseTimeout('500'), 500)
  for (const text of ['0', '-1', '1.5', 'x', '9999999999'])
    t.throws(
      () => parseTimeout(text),
      { message: /^must be milliseconds, such as 5000, got / },
      text,
    )
  t.end()
})
