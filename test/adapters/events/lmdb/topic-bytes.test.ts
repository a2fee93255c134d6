import t from 'tap'
import {
  formatTopicRecord,
  parseSequence,
  parseTopicRecord,
  toEventKey,
} from '../../../../adapters/events/lmdb/topic-bytes.ts'

t.test('round-trips a topic', (t) => {
  const topic = {
    number: 2 ** 32 - 1,
    first: 3,
    last: 2 ** 47,
    startBytes: 10,
    bytes: 2 ** 52,
    storedMs: 1_700_000_000_123,
    highestMs: 8.64e15,
  }
  t.strictSame(parseTopicRecord(formatTopicRecord(topic)), topic)
  t.end()
})

t.test('sorts keys by topic and sequence', (t) => {
  const positions = [
    [1, 1],
    [1, 255],
    [1, 256],
    [1, 2 ** 40],
    [2, 1],
    [300, 0],
  ] as const
  const keys = positions.map(([number, sequence]) => toEventKey(number, sequence))
  t.strictSame(keys.toSorted(Buffer.compare), keys)
  t.strictSame(keys.map(parseSequence), [1, 255, 256, 2 ** 40, 1, 0])
  t.end()
})
