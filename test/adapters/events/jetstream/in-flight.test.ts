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
  const told: string[] = []
  session.listen('ack.*', (_, message) => {
    told.push(`${message.subject} ${message.string()}`)
    message.respond()
  })
  const held = createInFlight(sessions, 60_000)
  const [a, b, c] = ['ack.a', 'ack.b', 'ack.c'].map(make)
  for (const delivery of [a!, b!, c!]) held.add(delivery)
  t.equal(held.remove(a!), true)
  t.equal(held.remove(a!), false)
  await held.nack(a!, 0)
  await held.nack(b!, 1.5)
  await held.nack(b!, 0)
  await held.nackAll()
  await held.nackAll()
  held.add(a!)
  held.forgetAll()
  await held.nackAll()
  t.same(told, ['ack.b -NAK {"delay": 1500000}', 'ack.c -NAK'])
  const late = createInFlight(sessions, 0)
  late.add(make('ack.late'))
  await late.nackAll()
  t.equal(told.length, 2)
})

t.test('sends nothing without a session', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions()
  const held = createInFlight(sessions, 60_000)
  held.add(make('ack.a'))
  await held.nackAll()
  t.equal(sessions.current, undefined)
})
