import { headers } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { addEphemeral } from '../../../../../adapters/events/jetstream/consumers/consumers.ts'
import {
  createPuller,
  type Pulled,
} from '../../../../../adapters/events/jetstream/consumers/puller.ts'
import { fromSequence } from '../../../../../adapters/events/jetstream/consumers/start.ts'
import { startJetStream } from '../../../../fixtures/jetstream.ts'

const ALL_AVAILABLE = { limit: 100, maxBytes: 1e6, waitMs: 0 }
const listTexts = ({ messages }: Pulled) => messages.map((message) => message.string())

/** A stream of text messages with a consumer. */
async function open(t: Test, ...texts: readonly string[]) {
  const server = await startJetStream(t)
  if (server === undefined) return undefined
  const session = await server.openSessions().open()
  await session.streams.add({ name: 'stream', subjects: ['stream'] })
  const publish = async (body: string) => session.request({ subject: 'stream', body })
  for (const text of texts) await publish(text)
  const { name } = await addEphemeral(session, 'stream', {
    start: fromSequence(1),
    ackWaitMs: 60_000,
    idleMs: 60_000,
  })
  return { server, session, publish, name, puller: createPuller(session, 'stream', name) }
}

t.test('pulls available messages up to the limit', async (t) => {
  const opened = await open(t, 'a', 'b', 'c', 'd')
  if (opened === undefined) return
  const { pull } = opened.puller
  const limited = await pull({ ...ALL_AVAILABLE, limit: 2 })
  t.same([listTexts(limited), limited.end], [['a', 'b'], 'done'])
  const single = await pull({ ...ALL_AVAILABLE, maxBytes: 1 })
  t.same([listTexts(single), single.end], [['c'], 'done'], 'one message of any length')
  const rest = await pull(ALL_AVAILABLE)
  t.same([listTexts(rest), rest.end], [['d'], 'done'])
  const noMessages = await pull(ALL_AVAILABLE)
  t.same([listTexts(noMessages), noMessages.end], [[], 'done'])
})

t.test('waits for the first message only', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { puller, publish } = opened
  const pulling = puller.pull({ ...ALL_AVAILABLE, waitMs: 30_000 })
  await publish('a')
  t.same(listTexts(await pulling), ['a'])
  const waited = await puller.pull({ ...ALL_AVAILABLE, waitMs: 50 })
  t.same([listTexts(waited), waited.end], [[], 'done'])
})

t.test('reports a deleted consumer', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { session, puller, name } = opened
  const pulling = puller.pull({ ...ALL_AVAILABLE, waitMs: 30_000 })
  await session.consumers.delete('stream', name)
  t.equal((await pulling).end, 'gone')
})

t.test('reports an ended session or a closed puller', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { server, session, name, puller } = opened
  const closed = createPuller(session, 'stream', name)
  const pending = closed.pull({ ...ALL_AVAILABLE, waitMs: 30_000 })
  t.same(await closed.close(), [])
  t.equal((await pending).end, 'closed')
  t.equal((await closed.pull(ALL_AVAILABLE)).end, 'closed')
  const pulling = puller.pull({ ...ALL_AVAILABLE, waitMs: 30_000 })
  await server.kill()
  t.equal((await pulling).end, 'closed')
  t.equal((await puller.pull(ALL_AVAILABLE)).end, 'closed')
  t.same(await puller.close(), [])
})

t.test('returns messages received during close', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { puller, session } = opened
  const pulling = puller.pull({ ...ALL_AVAILABLE, waitMs: 30_000 })
  // The server processes commands in order, so the messages precede the unsubscribe.
  for (const body of ['a', 'b']) session.publish({ subject: 'stream', body })
  const messages = [...(await puller.close()), ...(await pulling).messages]
  const { num_pending } = await session.consumers.info('stream', opened.name)
  t.equal(messages.length + num_pending, 2)
})

t.test('accepts a completion status before the last messages', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { server, session, publish, name } = opened
  const inbox = session.createInbox().replace(/\d+$/, (number) => String(Number(number) + 1))
  const puller = createPuller(session, 'stream', name)
  const pulling = puller.pull({ ...ALL_AVAILABLE, limit: 1, waitMs: 30_000 })
  // Like nats-server 2.10 and newer in a cluster, where a message waits until other servers have recorded its delivery.
  const cluster = await server.connect()
  cluster.publish(`${inbox}.1`, '', { headers: headers(409, 'Batch Completed') })
  await cluster.flush()
  await publish('a')
  const pulled = await pulling
  t.same([listTexts(pulled), pulled.end], [['a'], 'done'])
})
