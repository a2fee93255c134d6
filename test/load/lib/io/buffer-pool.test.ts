import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { acquireBuffer, isPooled, releaseBuffer } from '../../../../lib/io/buffer-pool.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const KIB = 1024

t.test(
  'a buffer has at least the requested size, and at most twice that size above 32 KiB',
  async (t) => {
    for (const size of [16 * KIB, 20_000, 32 * KIB, 32 * KIB + 1, 500_000, 512 * KIB, KIB * KIB]) {
      t.equal(isPooled(size), true)
      const { length } = acquireBuffer(size)
      t.ok(length >= size && length < Math.max(2 * size, 32 * KIB + 1), `${length} for ${size}`)
    }
    for (const size of [0, 1, 16 * KIB - 1, KIB * KIB + 1]) t.equal(isPooled(size), false)
  },
)

t.test('a released buffer is reused once', async (t) => {
  const memory = acquireBuffer(100_000)
  releaseBuffer(memory.subarray(0, 70_000))
  t.equal(acquireBuffer(70_000), memory, 'identified by its start')
  t.not(acquireBuffer(70_000), memory)
})

t.test('a page whose blocks are all released is reused for another size', async (t) => {
  const acquired = Array.from({ length: 64 * 32 }, () => acquireBuffer(32 * KIB))
  const { arrayBuffers } = process.memoryUsage()
  for (const memory of acquired) releaseBuffer(memory)
  const large = Array.from({ length: 64 }, () => acquireBuffer(KIB * KIB))
  t.ok(process.memoryUsage().arrayBuffers - arrayBuffers < 8 * KIB * KIB, 'no new slab')
  for (const memory of large) releaseBuffer(memory)
})

t.test('blocks of a page do not overlap', async (t) => {
  const acquired = Array.from({ length: 100 }, () => acquireBuffer(64 * KIB))
  for (const [i, memory] of acquired.entries()) memory.fill(i)
  t.ok(acquired.every((memory, i) => memory.every((byte) => byte === i)))
  for (const memory of acquired) releaseBuffer(memory)
})

t.test('releasing a buffer that is not from the pool has no effect', async (t) => {
  const separate = Buffer.alloc(64 * KIB)
  releaseBuffer(separate)
  t.not(acquireBuffer(64 * KIB), separate)
})

t.test('memory stays bounded if blocks are never released', async (t) => {
  const { arrayBuffers } = process.memoryUsage()
  for (let i = 0; i < 1200; i++) acquireBuffer(KIB * KIB)
  collectGarbage()
  const growth = process.memoryUsage().arrayBuffers - arrayBuffers
  t.ok(growth < 17 * 33 * KIB * KIB, `${growth} bytes`)
})
