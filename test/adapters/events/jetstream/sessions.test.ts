import t from 'tap'
import { startJetStream } from '../../../fixtures/jetstream.ts'

t.test('creates a session per connection', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions()
  t.equal(sessions.current, undefined)
  await sessions.tried
  const first = await sessions.open()
  t.equal(sessions.current, first)
  t.equal(await sessions.wait(0), first)
  await server.kill()
  await new Promise<void>((resolve) => first.onSettled(resolve))
  t.equal(sessions.current, undefined)
  await t.rejects(sessions.open(), { code: 503 })
  t.equal(await sessions.wait(1), undefined)
  const pending = sessions.wait(30_000)
  await server.start()
  const second = await pending
  t.ok(second !== undefined && second !== first)
  t.equal(sessions.current, second)
})

t.test('retries an operation in the next session', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions()
  await sessions.open()
  let runs = 0
  const text = await sessions.use(async (session) => {
    runs++
    if (runs > 1) return 'done'
    const ended = new Promise<void>((resolve) => session.onSettled(resolve))
    await server.kill()
    await ended
    void server.start()
    throw new Error('lost')
  })
  t.same([text, runs], ['done', 2])
})

t.test('does not retry after other failures', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions()
  let runs = 0
  const failing = sessions.use(async () => {
    runs++
    throw new Error('failed')
  })
  await t.rejects(failing, { code: 503, cause: { message: 'failed' } })
  t.equal(runs, 1)
})

t.test('fails without a server', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions(server.url, 200)
  const failing = sessions.use(async (session) => {
    const ended = new Promise<void>((resolve) => session.onSettled(resolve))
    await server.kill()
    await ended
    throw new Error('lost')
  })
  await t.rejects(failing, { code: 503 })
  await t.rejects(
    sessions.use(async () => {}),
    { code: 503 },
  )
})

t.test('resolves waiters on close', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const sessions = server.openSessions()
  const pending = sessions.wait(30_000)
  await sessions.close()
  t.equal(await pending, undefined)
  t.equal(sessions.current, undefined)
  await t.rejects(sessions.open(), { code: 503 })
  t.equal(await sessions.wait(30_000), undefined)
})
