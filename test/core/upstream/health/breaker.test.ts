import t from 'tap'
import { Breaker, DEFAULT_BREAKER } from '../../../../core/upstream/health/breaker.ts'

/** A breaker at a mock time; `r` records results: `+` for success, `-` for failure. */
function open(options: Partial<typeof DEFAULT_BREAKER> = {}) {
  const breaker = new Breaker({ ...DEFAULT_BREAKER, ...options })
  const r = (results: string, nowMs: number) =>
    [...results].map((result) => breaker.record(result === '-', nowMs)).includes(true)
  const admitted = (nowMs: number, count: number) =>
    Array.from({ length: count }, () => breaker.admits(nowMs)).filter(Boolean).length
  return { breaker, r, admitted }
}

t.test('opens at 50 percent failures of at least 20 requests in 10 s', async (t) => {
  const few = open()
  t.equal(few.r('-'.repeat(19), 0), false, '19 requests')
  t.equal(few.r('-', 9999), true, 'the 20th in the same window')
  t.equal(few.admitted(9999, 1), 0)
  const late = open()
  late.r('-'.repeat(19), 0)
  t.equal(late.r('-'.repeat(19), 10_000), false, 'the first 19 have expired')
  const half = open()
  t.equal(half.r(`${'+'.repeat(15)}${'-'.repeat(14)}`, 0), false, '14 of 29')
  t.equal(half.r('-', 0), true, '15 of 30')
})

t.test('counts expire one by one as the window moves', async (t) => {
  const { r } = open()
  r('+'.repeat(100), 0)
  t.equal(r('-'.repeat(90), 5000), false, '90 of 190')
  t.equal(r('-', 10_500), true, '91 of 91: the successes have expired')
})

t.test('after 5 s it admits 10 trial requests, and closes if less than half fail', async (t) => {
  const { breaker, r, admitted } = open()
  r('-'.repeat(20), 0)
  t.equal(admitted(4999, 20), 0)
  t.equal(admitted(5000, 20), 10)
  t.equal(r('-'.repeat(4), 5001), false)
  t.equal(r('+'.repeat(6), 5002), true)
  t.equal(breaker.untilMs, 0)
  t.equal(admitted(5003, 20), 20)
  t.equal(r('-'.repeat(19), 5004), false, 'the counts start at zero')
})

t.test('opens again if half of the trial requests fail', async (t) => {
  const { r, admitted } = open()
  r('-'.repeat(20), 0)
  admitted(5000, 10)
  t.equal(r('+++++-----', 6000), true)
  t.equal(admitted(10_999, 1), 0)
  t.equal(admitted(11_000, 1), 1)
})

t.test('results of requests sent before it opened do not count as trials', async (t) => {
  const { r, admitted } = open()
  r('-'.repeat(20), 0)
  t.equal(r('+'.repeat(30), 1), false)
  t.equal(admitted(1, 1), 0)
})

t.test(
  'trial requests without a result are replaced after the time without requests',
  async (t) => {
    const { r, admitted } = open({ halfOpen: 1 })
    r('-'.repeat(20), 0)
    t.equal(admitted(5000, 2), 1)
    t.equal(admitted(9999, 1), 0)
    t.equal(admitted(10_000, 2), 1)
  },
)

t.test('a trial request that is withdrawn may be sent again', async (t) => {
  const { breaker, r, admitted } = open({ halfOpen: 2 })
  breaker.withdraw()
  r('-'.repeat(20), 0)
  t.equal(admitted(5000, 3), 2)
  breaker.withdraw()
  t.equal(admitted(5001, 2), 1)
  r('+', 5002)
  breaker.withdraw()
  breaker.withdraw()
  t.equal(admitted(5003, 2), 1)
  t.equal(r('+', 5004), true)
})
