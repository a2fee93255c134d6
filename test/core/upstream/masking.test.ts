import { randomBytes } from 'node:crypto'
import t from 'tap'
import { generateMask, maskInPlace } from '../../../core/upstream/masking.ts'

t.test('payloads of any length and offset are masked as in RFC 6455 §5.3', async (t) => {
  for (const length of [0, 1, 2, 3, 4, 5, 7, 8, 31, 65_535, 65_536, 65_537]) {
    for (const offset of [0, 4, 12]) {
      const memory = randomBytes(offset + length + 8)
      const payload = memory.subarray(offset, offset + length)
      const before = Buffer.from(memory)
      const key = Buffer.alloc(4)
      generateMask(key)
      maskInPlace(payload, key)
      const expected = before.map((byte, i) =>
        i < offset || i >= offset + length ? byte : byte ^ key[(i - offset) % 4]!,
      )
      t.ok(memory.equals(expected), `${length} bytes at ${offset}`)
    }
  }
})

t.test('masking keys differ and are never zero', async (t) => {
  const key = Buffer.alloc(4)
  const keys = new Set<number>()
  for (let i = 0; i < 10_000; i++) {
    generateMask(key)
    keys.add(key.readUInt32LE(0))
  }
  t.notOk(keys.has(0))
  t.ok(keys.size > 9_900, `${keys.size} of 10 000`)
})
