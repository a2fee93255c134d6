import t from 'tap'
import { toTopicKey } from '../../../domain/events/topic-key.ts'

t.test('encodes topics uniquely and in order', (t) => {
  const keys = [
    toTopicKey({ namespace: 'a', topic: 'b' }),
    toTopicKey({ namespace: 'a', topic: 'b' }, 'c'),
    toTopicKey({ namespace: 'a', topic: 'b.c' }),
    toTopicKey({ namespace: 'a-b', topic: 'a' }),
    toTopicKey({ namespace: 'a.b', topic: 'a' }),
  ]
  t.equal(new Set(keys).size, keys.length)
  t.strictSame(keys.toSorted(), keys)
  t.end()
})
