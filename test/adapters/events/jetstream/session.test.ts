import t from 'tap'
import { startJetStream } from '../../../fixtures/jetstream.ts'

t.test('receives everything sent before it stops listening', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const session = await server.openSessions().open()
  const [one, two] = [session.createInbox(), session.createInbox()]
  t.not(one, two)
  const received: string[] = []
  const stop = session.listen(`${one}.*`, (_, message) => received.push(message.string()))
  for (const body of ['a', 'b']) session.publish({ subject: `${one}.x`, body })
  session.publish({ subject: `${two}.x`, body: 'elsewhere' })
  await stop()
  t.same(received, ['a', 'b'])
  await stop()
  t.ok(session.maxMessageBytes >= 1024 * 1024)
})

t.test('ends with its connection and notifies once', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const session = await server.openSessions().open()
  let notifications = 0
  const ended = new Promise<void>((resolve) =>
    session.onSettled(() => {
      notifications++
      resolve()
    }),
  )
  const unsubscribe = session.onSettled(() => t.fail('no message expected'))
  unsubscribe()
  t.notOk(session.isEnded)
  await server.kill()
  await ended
  t.ok(session.isEnded)
  await t.rejects(session.request({ subject: 'a' }), { code: 503 })
  session.publish({ subject: 'a' })
  session.onSettled(() => notifications++)
  t.equal(notifications, 2, 'late listeners are notified immediately')
})
