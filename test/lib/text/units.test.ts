import t from 'tap'
import {
  formatDuration,
  formatMs,
  formatSize,
  formatSpan,
  parseDuration,
  parseSize,
} from '../../../lib/text/units.ts'

t.test('parses sizes in bytes, with kb, mb, gb and tb as powers of 1024', async (t) => {
  const cases: [string | number, number][] = [
    ['0', 0],
    [512, 512],
    ['512b', 512],
    ['16kb', 16_384],
    ['16 KB', 16_384],
    ['100mb', 104_857_600],
    ['1.5gb', 1_610_612_736],
    ['1tb', 1024 ** 4],
    ['none', Number.POSITIVE_INFINITY],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ]
  for (const [text, bytes] of cases) t.equal(parseSize(text), bytes, `${text}`)
})

t.test('parses durations with a unit into milliseconds', async (t) => {
  const cases: [string | number, number][] = [
    ['0', 0],
    [0, 0],
    ['250ms', 250],
    ['1.5s', 1500],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['none', Number.POSITIVE_INFINITY],
  ]
  for (const [text, ms] of cases) t.equal(parseDuration(text), ms, `${text}`)
})

t.test('a duration without a unit is rejected with a suggestion of units', async (t) => {
  for (const [text, units] of [
    ['5', '5ms or 5s'],
    [250, '250ms or 250s'],
    [' 1.5 ', '1.5ms or 1.5s'],
  ] as const)
    t.throws(() => parseDuration(text), {
      message: `must be a duration such as 250ms, 30s, 5m, 2h or none, got ${JSON.stringify(text)} without a unit: write ${units}`,
    })
})

t.test('an invalid size or duration is rejected with the accepted forms', async (t) => {
  for (const bad of [
    '',
    'kb',
    '-1',
    '1e3',
    '5 parsecs',
    '16kbb',
    'constructor',
    '1toString',
    'NaN',
    '9'.repeat(40),
  ]) {
    t.throws(
      () => parseSize(bad),
      { name: 'RangeError', message: /^must be a size such as 512, 16kb/ },
      bad,
    )
    t.throws(
      () => parseDuration(bad),
      { name: 'RangeError', message: /^must be a duration such as/ },
      bad,
    )
  }
  t.throws(() => parseSize(-1), /got -1$/)
})

t.test('a formatted size or duration parses to the same number', async (t) => {
  t.equal(formatSize(16_384), '16kb')
  t.equal(formatSize(1000), '1000b')
  t.equal(formatSize(Number.POSITIVE_INFINITY), 'none')
  t.equal(formatDuration(300_000), '5m')
  t.equal(formatDuration(1500), '1500ms')
  for (const n of [0, 1, 1023, 1024, 5_242_880, 86_400_000]) {
    t.equal(parseSize(formatSize(n)), n)
    t.equal(parseDuration(formatDuration(n)), n)
  }
})

t.test('formats milliseconds with three decimals', async (t) => {
  const cases: [number, string][] = [
    [0, '0.000'],
    [0.0004, '0.000'],
    [0.0456, '0.046'],
    [0.5, '0.500'],
    [12, '12.000'],
    [1234.5678, '1234.568'],
    [-0.25, '-0.250'],
    [-1.5, '-1.500'],
  ]
  for (const [ms, text] of cases) t.equal(formatMs(ms), text)
})

t.test('formats a time span with its units from the largest one down', async (t) => {
  t.equal(formatSpan(0), '0s')
  t.equal(formatSpan(61), '1m1s')
  t.equal(formatSpan(86_400 + 189), '1d0h3m9s')
})
