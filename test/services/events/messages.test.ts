import t from 'tap'
import { toDelivery, toMessage, toTimeMs, toWaitMs } from '../../../services/events/messages.ts'

const EVENT = {
  id: 'id',
  sequence: 7,
  timestampMs: 1_700_000_000_999,
  metadata: { a: 'b' },
  payload: Buffer.from('payload'),
}

t.test('an event has its time in seconds and in milliseconds', (t) => {
  const { timestampMs, ...rest } = EVENT
  const message = {
    ...rest,
    topic: 'orders',
    timestamp: 1_700_000_000,
    timestamp_ms: timestampMs,
  }
  t.same(toMessage('orders', EVENT), message)
  t.same(toDelivery('orders', { event: EVENT, attempt: 3 }), { ...message, attempt: 3 })
  t.end()
})

t.test('milliseconds take precedence over seconds, and 0 means no time', (t) => {
  t.equal(toTimeMs(5, 0), 5000)
  t.equal(toTimeMs(5, 5001), 5001)
  t.equal(toTimeMs(0, 7), 7)
  t.equal(toTimeMs(0, 0), undefined)
  t.end()
})

t.test('nanoseconds are rounded up to milliseconds', (t) => {
  t.equal(toWaitMs(0), 0)
  t.equal(toWaitMs(1), 1)
  t.equal(toWaitMs(1e6), 1)
  t.equal(toWaitMs(1_000_001), 2)
  t.equal(toWaitMs(86_400_000_000_000), 86_400_000)
  t.end()
})
