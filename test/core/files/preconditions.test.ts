import t from 'tap'
import { checkPreconditions, isRangeCurrent } from '../../../core/files/preconditions.ts'
import { HeaderList } from '../../../core/http/headers.ts'

const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT'
const EARLIER = 'Sun, 06 Nov 1994 08:49:36 GMT'
const current = { etag: '"a"', modifiedS: Date.parse(DATE) / 1000 }

t.test('conditional headers are evaluated in the order of RFC 9110', async (t) => {
  const rows: [string[], number][] = [
    [[], 200],
    [['if-none-match', '"a"'], 304],
    [['if-none-match', 'W/"a"'], 304],
    [['if-none-match', '"x", "a"'], 304],
    [['if-none-match', '"x"', 'if-none-match', '"a"'], 304],
    [['if-none-match', '*'], 304],
    [['if-none-match', '"x"', 'if-modified-since', DATE], 200],
    [['if-modified-since', DATE], 304],
    [['if-modified-since', EARLIER], 200],
    [['if-modified-since', '1994'], 200],
    [['if-match', '"a"'], 200],
    [['if-match', '*'], 200],
    [['if-match', 'W/"a"'], 412],
    [['if-match', '"x"'], 412],
    [['if-unmodified-since', EARLIER], 412],
    [['if-unmodified-since', DATE], 200],
    [['if-match', '"a"', 'if-unmodified-since', EARLIER], 200],
  ]
  for (const [fields, expected] of rows)
    t.equal(checkPreconditions(new HeaderList(fields), current), expected, fields.join(' '))
  const none = { etag: undefined, modifiedS: undefined }
  t.equal(checkPreconditions(new HeaderList(['if-modified-since', DATE]), none), 200)
  t.equal(checkPreconditions(new HeaderList(['if-none-match', '"a"']), none), 200)
})

t.test('If-Range requires the same strong tag or date', async (t) => {
  const rows: [string, boolean][] = [
    ['"a"', true],
    ['"b"', false],
    ['W/"a"', false],
    [DATE, true],
    [EARLIER, false],
    ['tomorrow', false],
  ]
  for (const [value, expected] of rows)
    t.equal(isRangeCurrent(new HeaderList(['if-range', value]), current), expected, value)
  t.ok(isRangeCurrent(new HeaderList(), current))
})
