import t from 'tap'
import {
  countEvents,
  findLag,
  formatMetadata,
  sizeOfPayload,
  type TopicMessage,
} from '../../../web/events/event.ts'

const topic = (first: number, last: number, delaysMs: readonly number[] = []): TopicMessage => ({
  ...{ topic: 'orders', first, last, bytes: 0 },
  groups: delaysMs.map((lag, i) => ({ group: `g${i}`, acked: 0, pending: 0, lag })),
})

t.test('counts retained events', (t) => {
  t.equal(countEvents(topic(1, 5)), 5)
  t.equal(countEvents(topic(6, 5)), 0)
  t.equal(countEvents(topic(5, 5)), 1)
  t.end()
})

t.test('the lag of a topic is the lag of its slowest group', (t) => {
  t.equal(findLag(topic(1, 9, [0, 4, 2])), 4)
  t.equal(findLag(topic(1, 9, [0])), 0)
  t.equal(findLag(topic(1, 9)), undefined)
  t.end()
})

t.test('returns the size of a payload in bytes', (t) => {
  for (const bytes of [0, 1, 2, 3, 4, 1000]) {
    const payload = Buffer.alloc(bytes).toString('base64')
    const event = { id: '', topic: '', sequence: 1, timestamp_ms: 0, metadata: {}, payload }
    t.equal(sizeOfPayload(event), bytes)
  }
  t.end()
})

t.test('formats metadata on one line', (t) => {
  t.equal(formatMetadata({ source: 'shop', kind: 'a=b' }), 'source=shop, kind=a=b')
  t.equal(formatMetadata({}), '')
  t.end()
})
