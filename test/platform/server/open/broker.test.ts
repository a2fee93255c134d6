import t from 'tap'
import { createNatsBroker } from '../../../../adapters/broker/nats.ts'
import { parseNatsUrl } from '../../../../adapters/nats/url.ts'
import type { Message } from '../../../../core/contracts/broker.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { openServerBroker } from '../../../../platform/server/open/broker.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { startNats } from '../../../fixtures/nats.ts'

t.setTimeout(120_000)

const LOG = createLog('silent')

t.test('memory: delivers messages within the process', async (t) => {
  const broker = await openServerBroker('memory', LOG)
  t.teardown(() => broker.close?.())
  const received = new Promise<Message>((resolve) => void broker.subscribe('a', resolve))
  await broker.publish('a', { headers: {}, body: Buffer.from('x') })
  t.equal(Buffer.from((await received).body).toString(), 'x')
})

t.test('nats: delivers messages to other processes', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const broker = await openServerBroker(server.url, LOG)
  t.teardown(() => broker.close?.())
  const other = createNatsBroker({ address: parseNatsUrl(server.url) })
  t.teardown(() => other.close?.())
  let onMessage: (message: Message) => void
  const received = new Promise<Message>((resolve) => {
    onMessage = resolve
  })
  await other.subscribe('a', (message) => onMessage(message))
  await broker.publish('a', { headers: {}, body: Buffer.from('x') })
  t.equal(Buffer.from((await received).body).toString(), 'x')
})

t.test('reports an unreachable or denying server once, without its password', async (t) => {
  const warn = (warning: string) => t.fail(warning)
  await t.rejects(openServerBroker('nats://u:secret@127.0.0.1:1', { ...LOG, warn } as never), {
    message:
      'the broker nats://[hidden]@127.0.0.1:1 is not available: NATS at nats://127.0.0.1:1 is unreachable: 127.0.0.1:1: connection refused',
  })
  const server = await startNats(t, { settings: ['authorization { token: "s3cret" }'] })
  if (server === undefined) return
  const url = `nats://wrong@127.0.0.1:${server.port}`
  await t.rejects(
    openServerBroker(url, LOG),
    /^the broker nats:\/\/\[hidden\]@127\.0\.0\.1:\d+ is not available: [^\n]*$/,
  )
})

t.test('logs outage and recovery of the server once each', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const messages: string[] = []
  const warn = (message: string) => messages.push(message)
  const broker = await openServerBroker(server.url, { ...LOG, warn } as never)
  t.teardown(() => broker.close?.())
  await server.kill()
  await waitUntil(() => messages.length > 0)
  await server.start()
  await waitUntil(() => messages.length > 1)
  t.match(messages, [
    /^broker: NATS at [^ ]+ is unreachable: /,
    /^broker: NATS at [^ ]+ is reachable again after /,
  ])
  t.equal(messages.length, 2)
})
