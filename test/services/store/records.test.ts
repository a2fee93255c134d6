import t from 'tap'
import { toExpiresMs, toMessage, toMetadata } from '../../../services/store/records.ts'

const RECORD = { key: 'a', value: new Uint8Array(1), metadata: {}, expiresMs: 0, version: 3 }

t.test('metadata values keep their type, and string is the default', (t) => {
  const fields = {
    a: { type: 'int64', value: '5' },
    b: { type: '', value: ':' },
    c: { type: 'string', value: '' },
  }
  const metadata = toMetadata(fields)
  t.strictSame(toMessage({ ...RECORD, metadata }, 0).metadata, fields)
  t.strictSame(toMessage({ ...RECORD, metadata: { d: 'plain' } }, 0).metadata, {
    d: { type: 'string', value: 'plain' },
  })
  t.end()
})

t.test('expiry is in seconds from now, rounded up when read', (t) => {
  t.equal(toExpiresMs(0, 5000), 0)
  t.equal(toExpiresMs(2, 5000), 7000)
  const toExpiry = (nowMs: number) => toMessage({ ...RECORD, expiresMs: 7000 }, nowMs).expiry
  t.strictSame(
    [toExpiry(5000), toExpiry(5001), toExpiry(6001), toExpiry(6999), toExpiry(7000)],
    [2, 2, 1, 1, 1],
  )
  t.equal(toMessage(RECORD, 5000).expiry, 0)
  t.end()
})
