import t from 'tap'
import { toDigestId } from '../../../domain/events/digest-id.ts'

t.test('derives equal UUIDs only from equal texts', async (t) => {
  const ids = ['', 'a', 'b', 'a\0b'].map(toDigestId)
  for (const id of ids)
    t.match(id, /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  t.equal(new Set(ids).size, ids.length)
  t.equal(toDigestId('a'), ids[1])
})
