import t from 'tap'
import { toDisplayLine } from '../../../web/runtime/log-text.ts'

t.test('removes escape sequences from a line', async (t) => {
  t.equal(toDisplayLine('\x1b[1;31merror\x1b[0m: \x1b]0;title\x07done'), 'error: done')
})

t.test('shows other control characters as symbols, except tabs', async (t) => {
  t.equal(toDisplayLine('a\tb\x00\r\x7f\x9b'), 'a\tb␀␍␡�')
})

t.test('leaves markup unchanged', async (t) => {
  t.equal(toDisplayLine('<script>alert(1)</script>'), '<script>alert(1)</script>')
})
