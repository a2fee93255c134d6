import type { NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { createSubscriptions } from '../../../../adapters/broker/nats/subscriptions.ts'
import type { NatsLink } from '../../../../adapters/nats/connection.ts'

/** Commands received by a server double; nats-faults.test.ts uses a real one. */
function open() {
  const events: string[] = []
  const state = { isUnavailable: false, isLost: false }
  const outageError = new Error('NATS is unavailable')
  const connect = (name: string): NatsConnection =>
    ({
      subscribe(subject: string, { queue = '' }) {
        events.push(`${name} ${subject} ${queue}`.trim())
        return { unsubscribe: () => events.push(`${name} no ${subject} ${queue}`.trim()) }
      },
    }) as unknown as NatsConnection
  const first = connect('first')
  const link = {
    open: async () => {
      if (state.isUnavailable) throw outageError
      return first
    },
    confirm: async () => {
      if (state.isLost) throw outageError
    },
  } as unknown as NatsLink
  return {
    events,
    connect,
    outageError,
    state,
    subscriptions: createSubscriptions(() => link),
  }
}

t.test('renews only active subscriptions on a new connection', async (t) => {
  const { subscriptions, events, connect } = open()
  await subscriptions.subscribe('a', undefined, () => {})
  await subscriptions.subscribe('a', undefined, () => {})
  await subscriptions.subscribe('a', 'q', () => {})
  const unsubscribe = await subscriptions.subscribe('b', undefined, () => {})
  await unsubscribe()
  await unsubscribe()
  t.same(events.splice(0), ['first a', 'first a q', 'first b', 'first no b'])
  subscriptions.resubscribe(connect('second'))
  t.same(events, ['second a', 'second a q'])
})

t.test('removes a subscription that failed to start', async (t) => {
  const { subscriptions, events, connect, state, outageError } = open()
  state.isUnavailable = true
  const failing = subscriptions.subscribe('a', undefined, () => {})
  await t.rejects(failing, outageError)
  Object.assign(state, { isUnavailable: false, isLost: true })
  const starting = [1, 2].map(() => subscriptions.subscribe('a', undefined, () => {}))
  for (const { status } of await Promise.allSettled(starting)) t.equal(status, 'rejected')
  t.same(events.splice(0), ['first a', 'first no a'])
  subscriptions.resubscribe(connect('second'))
  t.same(events, [])
})
