import t from 'tap'
import { parseGoDuration } from '../../../lib/time/go-duration.ts'

t.test('parses Go durations into milliseconds', async (t) => {
  for (const [text, milliseconds] of [
    ['0', 0],
    ['0s', 0],
    ['5s', 5000],
    ['300ms', 300],
    ['1.5h', 5_400_000],
    ['1h30m', 5_400_000],
    ['-1h30m5s', -5_405_000],
    ['+5s', 5000],
    ['.5m', 30_000],
    ['1.s', 1000],
    ['2us', 0.002],
    ['2µs', 0.002],
    ['2\u03bcs', 0.002],
    ['1000000ns', 1],
    ['1m1m', 120_000],
  ] as const)
    t.equal(parseGoDuration(text), milliseconds, text)
})

t.test('returns undefined for an invalid duration', async (t) => {
  for (const text of [
    '',
    '-',
    '+',
    '5',
    '1.5',
    's',
    '5 s',
    '5d',
    '5S',
    'ms5',
    '1h-5m',
    '.s',
    '1e3s',
    'Infinitys',
    ` 5s`,
    '9'.repeat(300),
    '1s'.repeat(200),
  ])
    t.equal(parseGoDuration(text), undefined, text)
})
