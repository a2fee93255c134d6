import t from 'tap'
import {
  parseConsumerName,
  parseSubject,
  toAcksStream,
  toAcksSubject,
  toConsumerName,
  toTopicFilter,
  toTopicNames,
} from '../../../../adapters/events/jetstream/names.ts'

const TOPICS = [
  { namespace: 'mx', topic: 'orders' },
  { namespace: 'mx', topic: 'orders.v1-x_y' },
  { namespace: 'a.b', topic: 'c' },
  { namespace: 'a', topic: 'b.c' },
  { namespace: 'n'.repeat(253), topic: 't'.repeat(253) },
  { namespace: 'n'.repeat(253), topic: `${'t'.repeat(252)}u` },
]
/** Valid characters (nats-server: isValidName) and maximum length of names of streams and consumers. */
const NAME = /^[^\s.*>/\\]{1,255}$/

t.test('maps a topic to a unique valid stream name', async (t) => {
  const streams = TOPICS.map((topic) => toTopicNames('my.prefix', topic).stream)
  for (const stream of streams) t.match(stream, NAME)
  t.equal(new Set(streams).size, TOPICS.length)
  t.equal(toTopicNames('mx', TOPICS[1]!).stream, 'mx+events+mx+orders=v1-x_y')
})

t.test('parses the topic of a subject', async (t) => {
  for (const topic of TOPICS)
    t.same(parseSubject('my.prefix', toTopicNames('my.prefix', topic).subject), topic)
  t.equal(toTopicNames('mx', TOPICS[2]!).subject, 'mx.events.a=b.c')
  t.equal(toTopicNames('mx', TOPICS[2]!).aheadSubject, 'mx.events.a=b.c.=ahead')
  for (const subject of ['mx.acks.a.b', 'other.events.a.b', 'mx.events.a'])
    t.equal(parseSubject('mx', subject), undefined)
})

t.test('filters topics by namespace', async (t) => {
  t.equal(toTopicFilter('mx'), 'mx.events.>')
  t.equal(toTopicFilter('mx', 'a.b'), 'mx.events.a=b.>')
})

t.test('maps a group to a consumer name', async (t) => {
  for (const group of ['billing', 'a.b-c_d', 'g'.repeat(253)]) {
    t.match(toConsumerName(group), NAME)
    t.equal(parseConsumerName(toConsumerName(group)), group)
  }
})

t.test('maps acknowledgements to a subject by group and identity', async (t) => {
  t.equal(toAcksStream('my.prefix'), 'my=prefix+acks')
  const topic = { namespace: 'a.b', topic: 'c.d' }
  t.equal(toAcksSubject('mx', topic, 'e.f', '17'), 'mx.acks.a=b.c=d.e=f.17')
  t.equal(toAcksSubject('mx', topic, 'e.f'), 'mx.acks.a=b.c=d.e=f.*')
})
