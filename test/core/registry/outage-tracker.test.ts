import t from 'tap'
import { type Outage, Outages } from '../../../core/registry/outage-tracker.ts'

function open(): {
  outages: Outages
  reports: string[]
  turn: (ms: number) => void
} {
  let now = 1000
  const reports: string[] = []
  const outages = new Outages({
    nowMs: () => now,
    onOutage: (state: string, { reason, forMs }: Outage) =>
      reports.push(`${state} ${reason.message} ${forMs}`),
  })
  return {
    outages,
    reports,
    turn: (ms) => {
      now += ms
      outages.sweep()
    },
  }
}

const gone = new Error('gone')

t.test('a registry answers until a watch tells that it does not', async (t) => {
  const { outages, reports, turn } = open()
  t.equal(outages.current, undefined)
  outages.report('a', undefined)
  outages.sweep()
  t.same(reports, [])
  outages.report('a', gone)
  turn(10)
  t.same(outages.current, { reason: gone, forMs: 10 })
  outages.report('b', gone)
  turn(5)
  t.same(
    ['a', 'b', 'c'].map((watch) => outages.downForMs(watch)),
    [15, 5, 0],
    'each since it was cut off',
  )
  outages.report('b', undefined)
  outages.report('a', undefined)
  t.equal(outages.current, undefined)
})

t.test('thousands of watches that fail are one outage, told in one line', async (t) => {
  const { outages, reports, turn } = open()
  const watches = Array.from({ length: 5000 }, (_, i) => `s${i}`)
  for (const watch of watches) outages.report(watch, gone)
  t.same(reports, ['began gone 0'])
  for (let second = 0; second < 150; second += 5) turn(5000)
  t.same(reports.splice(0), ['began gone 0', 'lasts gone 60000', 'lasts gone 120000'])
  for (const watch of watches.slice(1)) outages.report(watch, undefined)
  t.ok(outages.current, 'as long as one of them is cut off')
  outages.report('s0', undefined)
  t.equal(outages.current, undefined)
  turn(5000)
  turn(5000)
  t.same(reports, ['ended gone 150000'])
})

t.test(
  'a registry that comes and goes is told of no more often than it is looked after',
  async (t) => {
    const { outages, reports, turn } = open()
    for (let i = 0; i < 1000; i++) {
      outages.report(`s${i}`, gone)
      outages.report(`s${i}`, undefined)
    }
    turn(5000)
    t.same(reports.splice(0), ['began gone 0', 'ended gone 0'])
    outages.report('a', new Error('again'))
    turn(5000)
    t.same(reports, ['began again 0'])
  },
)

t.test('the reason told last is the one that counts', async (t) => {
  const { outages, reports, turn } = open()
  outages.report('a', gone)
  outages.report('a', new Error('no permission'))
  turn(60_000)
  t.same(reports, ['began gone 0', 'lasts no permission 60000'])
})

t.test('each watch is away from the reason to the end it was told itself', async (t) => {
  const { outages, turn } = open()
  outages.report('a', gone)
  outages.report('b', gone)
  turn(1e9)
  outages.report('b', undefined)
  t.same(
    ['a', 'b', 'c'].map((watch) => outages.isUnavailable(watch)),
    [true, false, false],
  )
  outages.report('a', undefined)
  t.notOk(outages.isUnavailable('a'))
})

t.test('what has waited for an answer has been away for as long', async (t) => {
  const { outages, reports, turn } = open()
  outages.report('a', gone, 5000)
  t.equal(outages.downForMs('a'), 5000)
  turn(1000)
  t.same(outages.current, { reason: gone, forMs: 6000 })
  outages.report('a', undefined)
  turn(5000)
  t.same(reports, ['began gone 5000', 'ended gone 6000'])
})
