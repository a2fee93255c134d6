import t from 'tap'
import { parseMetadataLines, parseTimeout } from '../../../web/form/call-options.ts'

t.test('parses metadata lines, with names in lower case', (t) => {
  t.same(parseMetadataLines('X-Customer: 7: a \n\n x-b:\n'), [
    ['x-customer', '7: a'],
    ['x-b', ''],
  ])
  for (const [text, message] of [
    ['nothing', 'each line must be name: value, got "nothing"'],
    [': x', /each line must be name: value/],
    ['a b: x', /metadata name must be a token/],
    ['a: \u20ac', /metadata a must have one byte per character/],
  ] as const)
    t.throws(() => parseMetadataLines(text), { message }, text)
  t.end()
})

t.test('parses a timeout in whole milliseconds', (t) => {
  t.equal(parseTimeout(' '), undefined)
  t.equal(parseTimeout('500'), 500)
  for (const text of ['0', '-1', '1.5', 'x', '9999999999'])
    t.throws(
      () => parseTimeout(text),
      { message: /^must be a number of milliseconds such as 5000, got / },
      text,
    )
  t.end()
})
