import t from 'tap'
import { formatAgo } from '../../../cli/runtime/format-ago.ts'

const rows: [seconds: number, text: string][] = [
  [0, '0s ago'],
  [-5, '0s ago'],
  [9, '9s ago'],
  [60, '1m0s ago'],
  [3600, '1h0m0s ago'],
  [20 * 3600 + 43 * 60 + 45, '20h43m45s ago'],
  [24 * 3600 + 3 * 60 + 9, '1d0h3m9s ago'],
  [Number.NaN, 'unknown'],
]
for (const [seconds, text] of rows)
  t.test(`formats ${seconds} s ago as ${text}`, async (t) => {
    t.equal(formatAgo(10 ** 12 - seconds * 1000, 10 ** 12), text)
  })
