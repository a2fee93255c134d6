import t from 'tap'
import { parseHttpDate } from '../../../core/http/http-date.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const EXPECTED = Date.UTC(1994, 10, 6, 8, 49, 37)

t.test('parses the three formats of RFC 9110', (t) => {
  for (const text of [
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
    ' Sun, 06 Nov 1994 08:49:37 GMT ',
  ])
    t.equal(parseHttpDate(text, NOW_MS), EXPECTED, text)
  t.equal(parseHttpDate('Monday, 06-Nov-75 08:49:37 GMT', NOW_MS), Date.UTC(2075, 10, 6, 8, 49, 37))
  t.equal(parseHttpDate('Sunday, 06-Nov-77 08:49:37 GMT', NOW_MS), Date.UTC(1977, 10, 6, 8, 49, 37))
  t.end()
})

t.test('rejects other formats', (t) => {
  for (const text of [
    ...['', '0', '-1', '1994-11-06T08:49:37Z', 'Sun, 06 Nov 1994 08:49:37 UTC'],
    ...['Sun, 06 nov 1994 08:49:37 GMT', 'Sun 06 Nov 1994 08:49:37 GMT'],
    undefined,
  ])
    t.equal(parseHttpDate(text, NOW_MS), undefined, String(text))
  t.end()
})
