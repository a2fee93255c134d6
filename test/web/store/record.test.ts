import t from 'tap'
import { sizeOf, toExpiryLeft } from '../../../web/store/record.ts'

t.test('returns the size of a value in bytes', async (t) => {
  for (const length of [0, 1, 2, 3, 4, 100])
    t.equal(sizeOf({ value: Buffer.alloc(length).toString('base64') }), length)
})

t.test('rewriting a record preserves its expiry time', async (t) => {
  t.equal(toExpiryLeft({ expiry: 60, readMs: 1000 }, 13_400), 48)
  t.equal(toExpiryLeft({ expiry: 0, readMs: 1000 }, 13_400), 0)
  t.equal(toExpiryLeft({ expiry: 5, readMs: 1000 }, 13_400), 1, 'not permanent')
})
