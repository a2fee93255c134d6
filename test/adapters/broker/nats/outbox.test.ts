import type { NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { createOutbox } from '../../../../adapters/broker/nats/outbox.ts'

/** A connection whose server responds on demand. */
function createConnection() {
  const flushes: { readonly confirm: () => void; readonly fail: () => void }[] = []
  const flush = (): Promise<void> =>
    new Promise((resolve, reject) => {
      flushes.push({ confirm: resolve, fail: () => reject(new Error('lost')) })
    })
  return { connection: { flush } as unknown as NatsConnection, flushes }
}

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

t.test('counts messages until the server confirms them', async (t) => {
  const outbox = createOutbox()
  const { connection, flushes } = createConnection()
  outbox.add(connection, 10)
  outbox.add(connection, 20)
  outbox.add(connection, 30)
  t.equal(outbox.bytes, 60)
  t.equal(flushes.length, 1, 'one flush at a time')
  flushes[0]!.confirm()
  await round()
  t.equal(outbox.bytes, 50, 'sent after the first flush')
  t.equal(flushes.length, 2)
  flushes[1]!.confirm()
  await round()
  t.equal(outbox.bytes, 0)
  t.equal(flushes.length, 2, 'no further flush without messages')
  t.equal(outbox.clear(), 0)
})

t.test(
  'reports unconfirmed messages of a lost connection and ignores late confirmations',
  async (t) => {
    const outbox = createOutbox()
    const first = createConnection()
    for (let i = 0; i < 3; i++) outbox.add(first.connection, 10)
    t.equal(outbox.clear(), 3)
    t.equal(outbox.bytes, 0)
    const second = createConnection()
    outbox.add(second.connection, 5)
    first.flushes[0]!.confirm()
    await round()
    t.equal(outbox.bytes, 5)
    second.flushes[0]!.fail()
    await round()
    t.equal(outbox.clear(), 1)
  },
)
