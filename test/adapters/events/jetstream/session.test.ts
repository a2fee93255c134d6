import t from 'tap'
import { startJetStream } from '../../../fixtures/jetstream.ts'

t.test(
  'it listens until it is told not to, and misses nothing of what was sent before',
  async (t) => {
    const server = await startJetStream(t)
    if (server === undefined) return
    const session = await server.openSessions().open()
    const [one, two] = [session.createInbox(), session.createInbox()]
    t.not(one, two)
    const heard: string[] = []
    const stop = session.listen(`${one}.*`, (_, message) => heard.push(message.string()))
    for (const body of ['a', 'b']) session.tell({ subject: `${one}.x`, body })
    session.tell({ subject: `${two}.x`, body: 'elsewhere' })
    await stop()
    t.same(heard, ['a', 'b'])
    await stop()
    t.ok(session.maxMessageBytes >= 1024 * 1024)
  },
)

t.test('it is over with its connection, and says so once', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const session = await server.openSessions().open()
  let told = 0
  const over = new Promise<void>((resolve) =>
    session.onSettled(() => {
      told++
      resolve()
    }),
  )
  const forget = session.onSettled(() => t.fail('was to be told no more'))
  forget()
  t.notOk(session.isOver)
  await server.kill()
  await over
  t.ok(session.isOver)
  await t.rejects(session.ask({ subject: 'a' }), { code: 503 })
  session.tell({ subject: 'a' })
  session.onSettled(() => told++)
  t.equal(told, 2, 'at once, whoever asks late')
})
