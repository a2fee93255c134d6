import t, { type Test } from 'tap'
import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import type { Message } from '../../../core/contracts/broker.ts'
import {
  nameBroker,
  type OpenBrokerOptions,
  openBroker,
  toBrokerSource,
} from '../../../sdk/broker/open-broker.ts'
import { startNats } from '../../fixtures/nats.ts'
import { openPlatformBroker } from '../../fixtures/platform-broker.ts'
import { openRawBackend, waitUntil } from '../../fixtures/raw-backend.ts'

const toMessage = (text: string): Message => ({ headers: {}, body: Buffer.from(text) })
const getText = ({ body }: Message): string => Buffer.from(body).toString()
const failToken = (): never => {
  throw new Error('no client is required')
}

function open(t: Test, text: string, options: Partial<OpenBrokerOptions> = {}) {
  const opened = openBroker(text, { client: failToken, onWarning: () => {}, ...options })
  t.teardown(opened.broker.close)
  return opened
}

function withVariable(t: Test, value: string | undefined): void {
  const before = process.env['MX_BROKER']
  t.teardown(() => {
    if (before === undefined) delete process.env['MX_BROKER']
    else process.env['MX_BROKER'] = before
  })
  if (value === undefined) delete process.env['MX_BROKER']
  else process.env['MX_BROKER'] = value
}

t.test(
  'memory uses one broker per process, and closing one user does not affect other subscriptions',
  async (t) => {
    const [one, two] = [open(t, 'memory').broker, open(t, ' memory ').broker]
    const received: string[] = []
    await one.subscribe('open-broker.a', (message) => void received.push(`one ${getText(message)}`))
    const unsubscribe = await two.subscribe(
      'open-broker.a',
      (message) => void received.push(`two ${getText(message)}`),
    )
    await one.publish('open-broker.a', toMessage('1'))
    t.same(received.splice(0).sort(), ['one 1', 'two 1'])
    await one.close()
    await two.publish('open-broker.a', toMessage('2'))
    t.same(received.splice(0), ['two 2'])
    await unsubscribe()
    await unsubscribe()
    await two.publish('open-broker.a', toMessage('3'))
    t.same(received, [])
  },
)

t.test('nats:// connects to a NATS server, and a rejected login fails', async (t) => {
  const server = await startNats(t, { settings: ['authorization { token: "s3cret" }'] })
  if (server === undefined) return
  const { broker, loaded } = open(t, `nats://s3cret@127.0.0.1:${server.port}`)
  t.equal(broker.name, 'nats')
  const received: string[] = []
  await broker.subscribe('a', (message) => void received.push(getText(message)))
  await loaded
  t.equal(broker.maxBodyBytes, 1024 * 1024)
  await broker.publish('a', toMessage('1'))
  await waitUntil(() => received.length > 0)
  await broker.close()
  // The server counts the closed connection with a delay.
  while ((await server.monitor('/varz'))['connections'] !== 0);
  const other = open(t, `nats://other@127.0.0.1:${server.port}`)
  await t.rejects(other.loaded, { denied: true, message: /rejected the connection/ })
})

t.test(
  'an unreachable server does not prevent the start, but publishing fails with 503',
  async (t) => {
    const backend = await openRawBackend(t)
    backend.close()
    const { broker, loaded } = open(t, `nats://127.0.0.1:${backend.port}`)
    await loaded
    await t.rejects(async () => broker.publish('a', toMessage('1')), { code: 503 })
  },
)

t.test(
  'mx uses the broker service of the client, and mx://host:port the service at the address',
  async (t) => {
    const { client, address, subscribers, broker: platform } = await openPlatformBroker(t)
    for (const text of ['mx', `mx://${address}`]) {
      const { broker, loaded } = open(t, text, { client: () => client })
      await loaded
      t.equal(broker.name, 'mx')
      const received: string[] = []
      await broker.subscribe('a', (message) => void received.push(getText(message)))
      t.equal(subscribers(), 1)
      await platform.publish('mx.a', toMessage(text))
      await waitUntil(() => received.length > 0)
      t.same(received, [text])
      await broker.close()
      await waitUntil(() => subscribers() === 0)
    }
  },
)

t.test('any other text is rejected without showing credentials', async (t) => {
  for (const text of ['', 'rabbit', 'mx://', 'mx://a', 'mx://a:0', 'redis://u:s3cret@h:1'])
    t.throws(
      () => open(t, text),
      {
        name: 'TypeError',
        message: /^broker must be memory, mx, mx:\/\/host:port, .*, got "(?!.*s3cret)/,
      },
      text,
    )
  t.throws(() => open(t, 'nats://a:s3cret@h:0'), {
    name: 'TypeError',
    message: /^broker: invalid NATS URL, expected nats:.*ports from 1 to 65535$/,
  })
})

t.test('the broker option takes precedence over MX_BROKER', async (t) => {
  const adapter = createMemoryBroker()
  withVariable(t, undefined)
  t.equal(toBrokerSource(undefined), undefined)
  t.equal(toBrokerSource(adapter), adapter)
  withVariable(t, 'nats://h:1')
  t.equal(toBrokerSource(undefined), 'nats://h:1')
  t.equal(toBrokerSource('memory'), 'memory')
  withVariable(t, 'rabbit')
  t.throws(() => toBrokerSource(undefined), { message: /^MX_BROKER must be memory/ })
  t.same([adapter, 'memory', 'mx', 'mxs://a:1', 'tls://h'].map(nameBroker), [
    'memory',
    'memory',
    'mx',
    'mx',
    'nats',
  ])
})

t.test('drops are reported to a broker opened by its address', async (t) => {
  const platform = await openPlatformBroker(t)
  const { broker, loaded } = open(t, `mx://${platform.address}`)
  await loaded
  broker.reportDropped!('a', 3)
  await waitUntil(() => platform.broker.droppedRemotely === 3)
  t.doesNotThrow(() => open(t, 'memory').broker.reportDropped!('a', 1))
})
