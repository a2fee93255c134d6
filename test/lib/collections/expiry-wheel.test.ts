import fc from 'fast-check'
import t from 'tap'
import { createExpiryWheel } from '../../../lib/collections/expiry-wheel.ts'

t.test('an expired item is returned once; setting it again postpones its expiry', async (t) => {
  const expiry = createExpiryWheel<string>()
  expiry.set('a', 10_000)
  expiry.set('b', 10_000)
  expiry.set('c', Number.POSITIVE_INFINITY)
  expiry.set('d', 10_000)
  expiry.set('b', 20_000)
  expiry.delete('d')
  expiry.delete('missing')
  t.same(expiry.takeDue(9999), [])
  t.same(expiry.takeDue(10_000), ['a'])
  t.same(expiry.takeDue(10_000), [])
  expiry.set('b', Number.POSITIVE_INFINITY)
  t.same(expiry.takeDue(1e12), [])
})

t.test('items expire at most one second late and never early', (t) => {
  const step = fc.record({
    item: fc.integer({ min: 0, max: 5 }),
    ttlMs: fc.option(fc.integer({ min: 1, max: 5000 })),
    turnMs: fc.integer({ min: 0, max: 3000 }),
  })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const expiry = createExpiryWheel<number>()
      const ends = new Map<number, number>()
      let now = 0
      for (const { item, ttlMs, turnMs: roundMs } of steps) {
        if (ttlMs === null) {
          expiry.delete(item)
          ends.delete(item)
        } else {
          expiry.set(item, now + ttlMs)
          ends.set(item, now + ttlMs)
        }
        now += roundMs
        for (const due of expiry.takeDue(now)) {
          if (!(ends.get(due)! <= now)) return false
          ends.delete(due)
        }
        for (const endMs of ends.values()) if (endMs + 1000 <= now) return false
      }
      return true
    }),
  )
  t.end()
})

t.test('takeDue returns the items of each second among 90,000', async (t) => {
  const expiry = createExpiryWheel<{ readonly id: number }>()
  const ttlMs = (id: number): number => 1000 + (id % 90) * 1000
  for (let id = 0; id < 90_000; id++) expiry.set({ id }, ttlMs(id))
  const sizes: number[] = []
  for (let second = 1; second <= 90; second++) sizes.push(expiry.takeDue(second * 1000).length)
  t.same(new Set(sizes), new Set([1000]))
})
