import fc from 'fast-check'
import t from 'tap'
import { Deadlines, deadlines, type Timed } from '../../../core/rpc/deadlines.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

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
function createDeadlines() {
  let nowMs = 1000
  const deadlines = new Deadlines(() => nowMs)
  const advanceTo = (ms: number) => {
    nowMs = ms
    deadlines.tick()
  }
  const set = (ms: number) => {
    nowMs = ms
  }
  return { deadlines, advanceTo, set }
}

t.test('a deadline fires once, never early and at most two ticks late', async (t) => {
  const { deadlines, advanceTo } = createDeadlines()
  for (const remainingMs of [1, 19, 20, 21, 100, 999, 20_479, 20_480, 20_481, 100_000, 3_600_000]) {
    const start = 1000 + remainingMs * 3
    advanceTo(start)
    const entry = new Entry()
    deadlines.add(entry, remainingMs)
    t.equal(entry.deadlineMs, start + remainingMs)
    let expired = 0
    for (let ms = start; expired === 0 && ms < start + remainingMs + 100; ms += 10) {
      advanceTo(ms)
      if (entry.calls > 0) expired = ms
    }
    t.ok(expired >= start + remainingMs, `${remainingMs} ms: not early`)
    t.ok(expired <= start + remainingMs + 40, `${remainingMs} ms: not late`)
    advanceTo(expired + 50_000)
    t.equal(entry.calls, 1)
  }
  t.equal(deadlines.size, 0)
})

t.test('a removed deadline does not fire', async (t) => {
  const { deadlines, advanceTo } = createDeadlines()
  const entries = Array.from({ length: 100 }, () => new Entry())
  for (const entry of entries) deadlines.add(entry, 50)
  for (const entry of entries) if (entry !== entries[50]) deadlines.remove(entry)
  deadlines.remove(entries[0]!)
  t.equal(deadlines.size, 1)
  advanceTo(2000)
  t.equal(
    entries.reduce((sum, { calls }) => sum + calls, 0),
    1,
  )
  deadlines.remove(entries[50]!)
  t.equal(deadlines.size, 0)
})

t.test('a deadline handler can remove expired deadlines and add new ones', async (t) => {
  const { deadlines, advanceTo } = createDeadlines()
  const [a, b, c] = [new Entry(), new Entry(), new Entry()]
  a.onDeadline = () => {
    a.calls++
    deadlines.remove(b)
    deadlines.add(a, 30)
    deadlines.add(c, 1)
  }
  deadlines.add(a, 10)
  deadlines.add(b, 10)
  advanceTo(1100)
  t.strictSame([a.calls, b.calls, c.calls, deadlines.size], [1, 0, 0, 2])
  advanceTo(1200)
  t.strictSame([a.calls, b.calls, c.calls], [2, 0, 1])
})

t.test(
  'after a stall, all expired deadlines fire, but a deadline added last does not',
  async (t) => {
    const { deadlines, advanceTo, set } = createDeadlines()
    const old = Array.from({ length: 50 }, (_, i) => {
      const entry = new Entry()
      deadlines.add(entry, i * 1000)
      return entry
    })
    set(60_000)
    const fresh = new Entry()
    deadlines.add(fresh, 250)
    t.equal(deadlines.left(fresh), 250)
    advanceTo(60_100)
    t.ok(old.every(({ calls }) => calls === 1))
    t.equal(fresh.calls, 0, 'its timeout starts when it is added')
    t.equal(deadlines.left(fresh), 150)
    advanceTo(60_300)
    t.equal(fresh.calls, 1)
    t.equal(deadlines.left(fresh), 1, 'never less than a millisecond')
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
      const { deadlines, advanceTo } = createDeadlines()
      let nowMs = 1000
      const entries: { entry: Entry; removed: boolean }[] = []
      for (const step of steps) {
        if ('add' in step) {
          const entry = new Entry()
          deadlines.add(entry, step.add)
          entries.push({ entry, removed: false })
        } else if ('remove' in step) {
          const result = entries[step.remove]
          if (result === undefined) continue
          deadlines.remove(result.entry)
          if (result.entry.calls === 0) result.removed = true
        } else {
          nowMs += step.pass
          advanceTo(nowMs)
        }
        for (const { entry, removed } of entries) {
          const isOverdue = !removed && entry.deadlineMs <= nowMs - 40
          const isDue = !removed && entry.deadlineMs <= nowMs
          if (isOverdue && entry.calls !== 1) throw new Error('late')
          if (!isDue && entry.calls !== 0) throw new Error('early, or after it was removed')
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
    await waitUntil(() => entry.calls > 0)
    t.ok(performance.now() - start >= 30)
    t.equal(deadlines.size, 0)
  },
)
