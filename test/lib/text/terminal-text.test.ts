import t from 'tap'
import { escapeControls } from '../../../lib/text/terminal-text.ts'

t.test('control, bidirectional and line separator characters become JSON escapes', (t) => {
  t.equal(
    escapeControls(
      '\0\b\v\r\x1b\x7f\u0080\u009b\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069',
    ),
    '\\u0000\\u0008\\u000b\\u000d\\u001b\\u007f\\u0080\\u009b\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a\\u202e\\u2066\\u2069',
  )
  t.equal(escapeControls('a\tb\nç 漢 👩‍👩‍👧'), 'a\tb\nç 漢 👩‍👩‍👧')
  t.end()
})
