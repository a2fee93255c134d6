import fc from 'fast-check'
import t from 'tap'
import { Deadlines, deadlines, type Timed } from '../../../core/rpc/deadlines.ts'
import { until } from '../../fixtures/raw-backend.ts'

class Entry implements Timed {
  deadlineMs = 0
  timedNext: Timed['timedNext'] = undefined
  timedPrev: Timed['timedPrev'] = undefined
  calls = 0
  onDeadline: () => void = () => {
    this.calls++
  }
}

/** Creates a wheel with a mock clock that `goTo` advances. */
function createWheel() {
  let nowMs = 1000
  const wheel = new Deadlines(() => nowMs)
  const goTo = (ms: number) => {
    nowMs = ms
    wheel.tick()
  }
  const set = (ms: number) => {
    nowMs = ms
  }
  return { wheel, goTo, set }
}

t.test('a deadline fires once, never early and at most two ticks late', async (t) => {
  const { wheel, goTo } = createWheel()
  for (const leftMs of [1, 19, 20, 21, 100, 999, 20_479, 20_480, 20_481, 100_000, 3_600_000]) {
    const start = 1000 + leftMs * 3
    goTo(start)
    const entry = new Entry()
    wheel.add(entry, leftMs)
    t.equal(entry.deadlineMs, start + leftMs)
    let noticed = 0
    for (let ms = start; noticed === 0 && ms < start + leftMs + 100; ms += 10) {
      goTo(ms)
      if (entry.calls > 0) noticed = ms
    }
    t.ok(noticed >= start + leftMs, `${leftMs} ms: not early`)
    t.ok(noticed <= start + leftMs + 40, `${leftMs} ms: not late`)
    goTo(noticed + 50_000)
    t.equal(entry.calls, 1)
  }
  t.equal(wheel.size, 0)
})

t.test('a removed deadline does not fire', async (t) => {
  const { wheel, goTo } = createWheel()
  const entries = Array.from({ length: 100 }, () => new Entry())
  for (const entry of entries) wheel.add(entry, 50)
  for (const entry of entries) if (entry !== entries[50]) wheel.remove(entry)
  wheel.remove(entries[0]!)
  t.equal(wheel.size, 1)
  goTo(2000)
  t.equal(
    entries.reduce((sum, { calls }) => sum + calls, 0),
    1,
  )
  wheel.remove(entries[50]!)
  t.equal(wheel.size, 0)
})

t.test('a deadline handler can remove expired deadlines and add new ones', async (t) => {
  const { wheel, goTo } = createWheel()
  const [a, b, c] = [new Entry(), new Entry(), new Entry()]
  a.onDeadline = () => {
    a.calls++
    wheel.remove(b)
    wheel.add(a, 30)
    wheel.add(c, 1)
  }
  wheel.add(a, 10)
  wheel.add(b, 10)
  goTo(1100)
  t.strictSame([a.calls, b.calls, c.calls, wheel.size], [1, 0, 0, 2])
  goTo(1200)
  t.strictSame([a.calls, b.calls, c.calls], [2, 0, 1])
})

t.test(
  'after a stall, all expired deadlines fire, but a deadline added last does not',
  async (t) => {
    const { wheel, goTo, set } = createWheel()
    const old = Array.from({ length: 50 }, (_, i) => {
      const entry = new Entry()
      wheel.add(entry, i * 1000)
      return entry
    })
    set(60_000)
    const fresh = new Entry()
    wheel.add(fresh, 250)
    t.equal(wheel.left(fresh), 250)
    goTo(60_100)
    t.ok(old.every(({ calls }) => calls === 1))
    t.equal(fresh.calls, 0, 'its timeout starts when it is added')
    t.equal(wheel.left(fresh), 150)
    goTo(60_300)
    t.equal(fresh.calls, 1)
    t.equal(wheel.left(fresh), 1, 'never less than a millisecond')
  },
)

t.test('random additions and removals fire as if every entry had its own timer', async () => {
  const step = fc.oneof(
    fc.record({ add: fc.integer({ min: 1, max: 50_000 }) }),
    fc.record({ remove: fc.nat(100) }),
    fc.record({ pass: fc.integer({ min: 1, max: 30_000 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const { wheel, goTo } = createWheel()
      let nowMs = 1000
      const entries: { entry: Entry; removed: boolean }[] = []
      for (const step of steps) {
        if ('add' in step) {
          const entry = new Entry()
          wheel.add(entry, step.add)
          entries.push({ entry, removed: false })
        } else if ('remove' in step) {
          const result = entries[step.remove]
          if (result === undefined) continue
          wheel.remove(result.entry)
          if (result.entry.calls === 0) result.removed = true
        } else {
          nowMs += step.pass
          goTo(nowMs)
        }
        for (const { entry, removed } of entries) {
          const mustBe = !removed && entry.deadlineMs <= nowMs - 40
          const mayBe = !removed && entry.deadlineMs <= nowMs
          if (mustBe && entry.calls !== 1) throw new Error('late')
          if (!mayBe && entry.calls !== 0) throw new Error('early, or after it was removed')
        }
      }
    }),
  )
})

t.test(
  'the global wheel ticks while it has entries and does not keep the process alive',
  async (t) => {
    const entry = new Entry()
    const start = performance.now()
    deadlines.add(entry, 30)
    t.notOk(process.getActiveResourcesInfo().includes('Timeout'), 'its timer is unreferenced')
    await until(() => entry.calls > 0)
    t.ok(performance.now() - start >= 30)
    t.equal(deadlines.size, 0)
  },
)
