import t from 'tap'
import { type Outage, Outages } from '../../../core/registry/outage-tracker.ts'

function open(): {
  outages: Outages
  reports: string[]
  advanceTo: (ms: number) => void
} {
  let nowMs = 1000
  const reports: string[] = []
  const outages = new Outages({
    nowMs: () => nowMs,
    onOutage: (state: string, { reason, durationMs }: Outage) =>
      reports.push(`${state} ${reason.message} ${durationMs}`),
  })
  return {
    outages,
    reports,
    advanceTo: (ms) => {
      nowMs += ms
      outages.sweep()
    },
  }
}

const outage = new Error('gone')

t.test('an outage lasts from the first failed watch to the recovery of the last', async (t) => {
  const { outages, reports, advanceTo } = open()
  t.equal(outages.current, undefined)
  outages.report('a', undefined)
  outages.sweep()
  t.same(reports, [])
  outages.report('a', outage)
  advanceTo(10)
  t.same(outages.current, { reason: outage, durationMs: 10 })
  outages.report('b', outage)
  advanceTo(5)
  t.same(
    ['a', 'b', 'c'].map((watch) => outages.downForMs(watch)),
    [15, 5, 0],
    'duration of the outage per watch',
  )
  outages.report('b', undefined)
  outages.report('a', undefined)
  t.equal(outages.current, undefined)
})

t.test('an outage of 5000 watches is reported once, then once a minute', async (t) => {
  const { outages, reports, advanceTo } = open()
  const watches = Array.from({ length: 5000 }, (_, i) => `s${i}`)
  for (const watch of watches) outages.report(watch, outage)
  t.same(reports, ['started gone 0'])
  for (let second = 0; second < 150; second += 5) advanceTo(5000)
  t.same(reports.splice(0), ['started gone 0', 'ongoing gone 60000', 'ongoing gone 120000'])
  for (const watch of watches.slice(1)) outages.report(watch, undefined)
  t.ok(outages.current, 'until the last watch recovers')
  outages.report('s0', undefined)
  t.equal(outages.current, undefined)
  advanceTo(5000)
  advanceTo(5000)
  t.same(reports, ['ended gone 150000'])
})

t.test('short outages are reported at most once per sweep', async (t) => {
  const { outages, reports, advanceTo } = open()
  for (let i = 0; i < 1000; i++) {
    outages.report(`s${i}`, outage)
    outages.report(`s${i}`, undefined)
  }
  advanceTo(5000)
  t.same(reports.splice(0), ['started gone 0', 'ended gone 0'])
  outages.report('a', new Error('again'))
  advanceTo(5000)
  t.same(reports, ['started again 0'])
})

t.test('an ongoing outage is reported with its latest reason', async (t) => {
  const { outages, reports, advanceTo } = open()
  outages.report('a', outage)
  outages.report('a', new Error('no permission'))
  advanceTo(60_000)
  t.same(reports, ['started gone 0', 'ongoing no permission 60000'])
})

t.test('a watch is down from its own failure to its own recovery', async (t) => {
  const { outages, advanceTo } = open()
  outages.report('a', outage)
  outages.report('b', outage)
  advanceTo(1e9)
  outages.report('b', undefined)
  t.same(
    ['a', 'b', 'c'].map((watch) => outages.isUnavailable(watch)),
    [true, false, false],
  )
  outages.report('a', undefined)
  t.notOk(outages.isUnavailable('a'))
})

t.test('the time waited for a response counts towards the outage', async (t) => {
  const { outages, reports, advanceTo } = open()
  outages.report('a', outage, 5000)
  t.equal(outages.downForMs('a'), 5000)
  advanceTo(1000)
  t.same(outages.current, { reason: outage, durationMs: 6000 })
  outages.report('a', undefined)
  advanceTo(5000)
  t.same(reports, ['started gone 5000', 'ended gone 6000'])
})
