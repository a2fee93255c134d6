import t from 'tap'
import { JetDelivery } from '../../../../adapters/events/jetstream/consumers/delivery.ts'
import { createInFlight } from '../../../../adapters/events/jetstream/in-flight.ts'
import { makeEvent, startJetStream } from '../../../fixtures/jetstream.ts'

const CALLS = { ack() {}, nack() {} }
const make = (reply: string) => new JetDelivery({ ...makeEvent(''), sequence: 1 }, 1, reply, CALLS)

t.test('rejects only unexpired deliveries on the server', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions()
  const session = await sessions.open()
  const messages: string[] = []
  session.listen('ack.*', (_, message) => {
    messages.push(`${message.subject} ${message.string()}`)
    message.respond()
  })
  const inFlight = createInFlight(sessions, 60_000)
  const [a, b, c] = ['ack.a', 'ack.b', 'ack.c'].map(make)
  for (const delivery of [a!, b!, c!]) inFlight.add(delivery)
  t.equal(inFlight.remove(a!), true)
  t.equal(inFlight.remove(a!), false)
  await inFlight.nack(a!, 0)
  await inFlight.nack(b!, 1.5)
  await inFlight.nack(b!, 0)
  await inFlight.nackAll()
  await inFlight.nackAll()
  inFlight.add(a!)
  inFlight.forgetAll()
  await inFlight.nackAll()
  t.same(messages, ['ack.b -NAK {"delay": 1500000}', 'ack.c -NAK'])
  const late = createInFlight(sessions, 0)
  late.add(make('ack.late'))
  await late.nackAll()
  t.equal(messages.length, 2)
})

t.test('sends nothing without a session', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions()
  const inFlight = createInFlight(sessions, 60_000)
  inFlight.add(make('ack.a'))
  await inFlight.nackAll()
  t.equal(sessions.current, undefined)
})
