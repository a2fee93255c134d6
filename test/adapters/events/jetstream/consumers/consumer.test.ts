import t from 'tap'
import { createMember } from '../../../../../adapters/events/jetstream/consumers/consumer.ts'
import type { Session } from '../../../../../adapters/events/jetstream/session.ts'
import { GatewayError } from '../../../../../core/errors.ts'
import { eventsUnavailable } from '../../../../../domain/events/errors.ts'
import { startJetStream } from '../../../../fixtures/jetstream.ts'

/** A consumer without messages. */
const toAttached = (session: Session, end: 'done' | 'gone' | 'closed' = 'gone') => ({
  session,
  toDelivery: () => undefined,
  pull: async () => ({ messages: [], end }),
  close: async () => [],
})
const NO_CALLBACKS = { giveBack: async () => {}, onLeave() {} }

t.test('waits during an outage and throws any other error', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions()
  const session = await sessions.open()
  const failures = [
    eventsUnavailable('one'),
    eventsUnavailable('two'),
    new GatewayError('events', 410, 'gone'),
  ]
  const member = createMember({
    ...NO_CALLBACKS,
    sessions,
    attached: toAttached(session),
    attach: () => Promise.reject(failures.shift()),
  })
  await t.rejects(member.pull(1, 1), { code: 410, message: 'gone' })
  t.same(failures, [])
  await member.leave()
  t.same(await member.pull(1, 1), [])
})

t.test('leaves immediately without a session', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions()
  const session = await sessions.open()
  const ended = new Promise<void>((resolve) => void session.onSettled(resolve))
  await server.kill()
  await ended
  const attachment = toAttached(session)
  const member = createMember({
    ...NO_CALLBACKS,
    sessions,
    attached: attachment,
    attach: async () => attachment,
  })
  const pulling = member.pull(1, 1)
  await member.leave()
  t.same(await pulling, [])
})
