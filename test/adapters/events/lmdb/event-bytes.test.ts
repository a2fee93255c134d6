import t from 'tap'
import { formatEvent, parseEvent, parseMark } from '../../../../adapters/events/lmdb/event-bytes.ts'

const ID = 'b3f1c1de-7a44-4d8e-9d43-0a2d3c4e5f60'

t.test('round-trips an event and its mark', (t) => {
  const mark = { storedMs: 1_700_000_000_123, highestMs: 8.64e15, startBytes: 2 ** 40 }
  for (const event of [
    { id: ID, timestampMs: 5, metadata: {}, payload: Buffer.alloc(0) },
    { id: ID, timestampMs: 8.64e15, metadata: { é: '\u{1f600}' }, payload: Buffer.from([0, 255]) },
  ]) {
    const bytes = formatEvent(event, mark)
    t.strictSame(parseEvent(7, bytes), { ...event, sequence: 7 })
    t.strictSame(parseMark(bytes), mark)
  }
  t.end()
})
