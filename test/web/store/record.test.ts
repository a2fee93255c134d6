import t from 'tap'
import { sizeOf, toExpiryLeft } from '../../../web/store/record.ts'

t.test('the size of a value is that of its bytes', async (t) => {
  for (const length of [0, 1, 2, 3, 4, 100])
    t.equal(sizeOf({ value: Buffer.alloc(length).toString('base64') }), length)
})

t.test('a record that is written again ends when it would have', async (t) => {
  t.equal(toExpiryLeft({ expiry: 60, readMs: 1000 }, 13_400), 48)
  t.equal(toExpiryLeft({ expiry: 0, readMs: 1000 }, 13_400), 0)
  t.equal(toExpiryLeft({ expiry: 5, readMs: 1000 }, 13_400), 1, 'not never')
})
