import t from 'tap'
import { parseRange } from '../../../core/files/byte-range.ts'

t.test('a single range is cut to the size; others are ignored or unsatisfiable', async (t) => {
  const rows: [string | undefined, number, ReturnType<typeof parseRange>][] = [
    ['bytes=0-3', 10, { start: 0, length: 4 }],
    ['bytes=4-', 10, { start: 4, length: 6 }],
    ['bytes=8-99', 10, { start: 8, length: 2 }],
    ['bytes=-3', 10, { start: 7, length: 3 }],
    ['bytes=-99', 10, { start: 0, length: 10 }],
    ['bytes=9-9', 10, { start: 9, length: 1 }],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=99999999999999999999-', 10, 'unsatisfiable'],
    ['bytes=3-2', 10, undefined],
    ['bytes=0-1,3-4', 10, undefined],
    ['bytes=a-b', 10, undefined],
    ['bytes=-', 10, undefined],
    ['lines=0-1', 10, undefined],
    [undefined, 10, undefined],
    ['bytes=0-', 0, undefined],
  ]
  for (const [header, size, expected] of rows)
    t.strictSame(parseRange(header, size), expected, `${header}`)
})
