import t from 'tap'
import type { EventDelivery } from '../../../core/contracts/events.ts'
import { isDeadTopic, toDeadLetter, toDeadTopic } from '../../../domain/events/dead-letters.ts'

const TOPIC = { namespace: 'mx', topic: 'orders' }
const DELIVERY: EventDelivery = {
  event: {
    id: 'b3f1c1de-7a44-4d8e-9d43-0a2d3c4e5f60',
    sequence: 7,
    timestampMs: 1_700_000_000_123,
    metadata: { a: 'b' },
    payload: Buffer.from('payload'),
  },
  attempt: 4,
  ack() {},
  nack() {},
}

t.test('a dead letter contains the event and its origin', (t) => {
  const deadLetter = toDeadLetter(TOPIC, 'billing', DELIVERY, 'nack', 1_800_000_000_000)
  t.strictSame(deadLetter, {
    id: deadLetter.id,
    timestampMs: 1_800_000_000_000,
    payload: DELIVERY.event.payload,
    metadata: {
      a: 'b',
      'dead-topic': 'orders',
      'dead-group': 'billing',
      'dead-id': DELIVERY.event.id,
      'dead-sequence': '7',
      'dead-timestamp': '2023-11-14T22:13:20.123Z',
      'dead-attempts': '4',
      'dead-reason': 'nack',
    },
  })
  t.match(toDeadLetter(TOPIC, undefined, DELIVERY, 'ack_wait', 5).metadata, {
    'dead-attempts': '3',
    'dead-reason': 'ack_wait',
    'dead-group': undefined,
  })
  t.end()
})

t.test('a dead letter has a stable id for an event and group', (t) => {
  const getId = (group: string | undefined, now = 5) =>
    toDeadLetter(TOPIC, group, DELIVERY, 'nack', now).id
  t.match(getId('a'), /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.equal(getId('a'), getId('a', 6))
  t.equal(new Set([getId('a'), getId('b'), getId(undefined), DELIVERY.event.id]).size, 4)
  t.end()
})

t.test('recognizes topics of dead letters by name', (t) => {
  t.equal(toDeadTopic('orders'), 'orders.dead')
  t.equal(isDeadTopic('orders.dead'), true)
  t.equal(isDeadTopic('orders'), false)
  t.end()
})
