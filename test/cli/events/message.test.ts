import t from 'tap'
import { toDocument, toPayload } from '../../../cli/events/message.ts'

const EVENT = {
  ...{ id: '1', topic: 'orders', sequence: 1, timestamp_ms: 0, metadata: {} },
  payload: Buffer.from('ä').toString('base64'),
}

t.test('the payload of an event is text, or base64 if it is not UTF-8', async (t) => {
  t.same(toDocument(EVENT), { ...EVENT, payload: 'ä' })
  const { payload: _, ...rest } = EVENT
  t.same(toDocument({ ...EVENT, payload: '/w==' }), { ...rest, payload_base64: '/w==' })
  t.same([...toPayload({ payload: '/w==' })], [0xff])
})
