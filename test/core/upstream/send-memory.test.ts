import t from 'tap'
import { isPooled, returnMemory, takeMemory } from '../../../core/upstream/send-memory.ts'

const KIB = 1024

t.test('memory is large enough, and at most twice as large above 32 KiB', async (t) => {
  for (const size of [16 * KIB, 20_000, 32 * KIB, 32 * KIB + 1, 500_000, 512 * KIB, KIB * KIB]) {
    t.equal(isPooled(size), true)
    const { length } = takeMemory(size)
    t.ok(length >= size && length < Math.max(2 * size, 32 * KIB + 1), `${length} for ${size}`)
  }
  for (const size of [0, 1, 16 * KIB - 1, KIB * KIB + 1]) t.equal(isPooled(size), false)
})

t.test('what was given back is used again, in its class only', async (t) => {
  const memory = takeMemory(100_000)
  returnMemory(memory)
  t.not(takeMemory(200_000), memory)
  t.equal(takeMemory(70_000), memory)
  t.not(takeMemory(70_000), memory, 'not by two at a time')
})

t.test('what is kept is bounded', async (t) => {
  const taken = Array.from({ length: 20 }, () => takeMemory(KIB * KIB))
  for (const memory of taken) returnMemory(memory)
  const again = Array.from({ length: 20 }, () => takeMemory(KIB * KIB))
  t.equal(again.filter((memory) => taken.includes(memory)).length, 8)
})
