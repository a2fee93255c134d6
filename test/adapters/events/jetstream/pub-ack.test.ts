import t from 'tap'
import { isUnacknowledged, toStored } from '../../../../adapters/events/jetstream/pub-ack.ts'
import { startJetStream } from '../../../fixtures/jetstream.ts'

t.test('converts publish responses', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const session = await server.openSessions().open()
  await session.streams.add({ name: 'stored', subjects: ['stored'] })
  await session.streams.add({
    name: 'full',
    subjects: ['full'],
    max_bytes: 10,
    discard: 'new',
  })
  const message = await session.request({ subject: 'stored', body: 'x' })
  t.notOk(isUnacknowledged(message))
  t.equal(toStored(message), 1)
  const full = await session.request({ subject: 'full', body: 'x'.repeat(100) })
  t.throws(() => toStored(full), { code: 507 })
  const response = await session.request({ subject: 'none', body: 'x' })
  t.ok(isUnacknowledged(response))
  t.throws(() => toStored(response), { code: 503 })
})
