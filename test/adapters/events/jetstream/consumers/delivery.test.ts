import t from 'tap'
import { JetDelivery } from '../../../../../adapters/events/jetstream/consumers/delivery.ts'
import { makeEvent } from '../../../../fixtures/jetstream.ts'

t.test('passes itself to ack and nack', async (t) => {
  const calls: unknown[] = []
  const delivery = new JetDelivery({ ...makeEvent('a'), sequence: 7 }, 2, 'reply', {
    ack: (delivery) => void calls.push(['ack', delivery]),
    nack: (delivery, delayMs) => void calls.push(['nack', delivery, delayMs]),
  })
  await delivery.ack()
  await delivery.nack(5)
  t.same(
    calls.map((parts) => (parts as unknown[]).filter((part) => part !== delivery)),
    [['ack'], ['nack', 5]],
  )
  t.match(delivery, { attempt: 2, reply: 'reply', event: { sequence: 7 } })
})
