import t from 'tap'
import { toConsumption } from '../../../domain/events/consume-options.ts'

const TOPIC = { namespace: 'mx', topic: 'orders' }

t.test('derives acknowledgement from the group and the auto-ack option', (t) => {
  const read = (options: object) => {
    const { acks, group, settings } = toConsumption(TOPIC, options)
    return [acks, group.name, group.ackWaitMs, settings.ackWaitMs]
  }
  t.strictSame(read({}), ['none', undefined, undefined, 60_000])
  t.strictSame(read({ group: 'g' }), ['auto', 'g', 60_000, 60_000])
  t.strictSame(read({ group: 'g', ackWaitMs: 5 }), ['auto', 'g', 5, 5])
  t.strictSame(read({ autoAck: false, ackWaitMs: 5 }), ['owner', undefined, 5, 5])
  t.strictSame(read({ group: 'g', autoAck: false, ackWaitMs: 5 }), ['owner', 'g', 5, 5])
  t.match(toConsumption(TOPIC, { start: { sequence: 5 } }), {
    group: { start: { sequence: 5 } },
    settings: { retryLimit: -1, maxInFlight: 1000 },
  })
  t.end()
})

t.test('rejects contradictory options with 400 and names the option', (t) => {
  for (const [options, message] of [
    [{ group: '' }, /^group must be letters/],
    [{ start: { sequence: 0 } }, /^sequence must be/],
    [{ autoAck: false }, /^ackWaitMs must be a whole number from 1 to 86400000, got 0$/],
    [{ autoAck: false, ackWaitMs: 86_400_001 }, /^ackWaitMs must be/],
    [{ ackWaitMs: 0.5 }, /^ackWaitMs must be/],
    [{ retryLimit: -2 }, /^retryLimit must be/],
    [{ maxInFlight: 0 }, /^maxInFlight must be/],
  ] as const)
    t.throws(() => toConsumption(TOPIC, options), { code: 400, message })
  t.throws(() => toConsumption({ namespace: 'mx', topic: '' }, {}), { message: /^topic must be/ })
  t.end()
})
