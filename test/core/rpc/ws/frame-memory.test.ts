import t from 'tap'
import { frameMemory } from '../../../../core/limits/memory-budget.ts'
import { createFrameMemory } from '../../../../core/rpc/ws/frame-memory.ts'

t.test('beyond the budget, the frames without progress for the longest time are evicted', (t) => {
  const { maxBytes } = frameMemory
  frameMemory.maxBytes = 100
  t.teardown(() => {
    frameMemory.maxBytes = maxBytes
  })
  const evicted: string[] = []
  const [a, b, c] = ['a', 'b', 'c'].map((name) => createFrameMemory(() => evicted.push(name)))
  const report = (memory: typeof a, bytes: number): void => memory!.onBuffered!(bytes)
  report(a, 40)
  report(b, 40)
  report(a, 50)
  t.equal(frameMemory.usedBytes, 90)
  report(c, 40)
  t.strictSame(evicted, ['b'], 'a made progress after b')
  t.equal(frameMemory.usedBytes, 90)
  report(c, 120)
  t.strictSame(
    evicted,
    ['b', 'a', 'c'],
    'a frame larger than the budget evicts all frames, including itself',
  )
  t.equal(frameMemory.usedBytes, 0)
  report(b, 10)
  report(b, 0)
  t.equal(frameMemory.usedBytes, 0)
  t.end()
})
