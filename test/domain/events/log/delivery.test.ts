import t from 'tap'
import { InFlightEvent, LogDelivery } from '../../../../domain/events/log/delivery.ts'

const EVENT = { id: 'id', sequence: 3, timestampMs: 5, metadata: {}, payload: new Uint8Array(0) }

/** Keeps the process alive until `done` is called. */
function waitFor(begin: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const alive = setInterval(() => {}, 1000)
    begin(() => {
      clearInterval(alive)
      resolve()
    })
  })
}

t.test('releases an event in flight after its timeout', async (t) => {
  const consumer = { ackWaitMs: 20 }
  const startMs = performance.now()
  await waitFor((done) => {
    const inFlight = new InFlightEvent(3, 1, consumer, (delivery) => {
      t.equal(delivery, inFlight)
      done()
    })
    t.equal(inFlight.consumer, consumer)
  })
  t.ok(performance.now() - startMs >= 20)
})

t.test('releases a rejected event after a delay or on request of its owner', async (t) => {
  const freed: number[] = []
  await waitFor((done) => {
    const onFree = ({ sequence, consumer }: InFlightEvent): void => {
      t.equal(consumer, undefined)
      freed.push(sequence)
      done()
    }
    new InFlightEvent(1, 1, { ackWaitMs: 5 }, onFree).release(0)
    new InFlightEvent(2, 1, { ackWaitMs: 60_000 }, onFree).release(30)
  })
  t.strictSame(freed, [2])
})

t.test('reports the outcome of a delivery', (t) => {
  const calls: unknown[] = []
  const inFlight = new InFlightEvent(3, 2, { ackWaitMs: 60_000 }, () => {})
  t.teardown(() => inFlight.release(0))
  const delivery = new LogDelivery(EVENT, inFlight, {
    ack: (delivery) => void calls.push(['ack', delivery.sequence]),
    nack: (one, delayMs) => calls.push(['nack', one.sequence, delayMs]),
  })
  t.equal(delivery.event, EVENT)
  t.equal(delivery.attempt, 2)
  void delivery.ack()
  delivery.nack(7)
  t.strictSame(calls, [
    ['ack', 3],
    ['nack', 3, 7],
  ])
  t.end()
})
