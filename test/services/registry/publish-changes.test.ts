import t from 'tap'
import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import type { Message } from '../../../core/contracts/broker.ts'
import { createBroker } from '../../../domain/broker/broker.ts'
import { brokerUnavailable } from '../../../domain/broker/errors.ts'
import { publishChanges } from '../../../services/registry/publish-changes.ts'
import type { WatchEvent, Watches } from '../../../services/registry/watches.ts'
import { openPlatformRegistry, toRegistration } from '../../fixtures/platform-registry.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'

t.test('Registry publishes its changes on topic registry.events.', async (t) => {
  const broker = createBroker(createMemoryBroker())
  t.teardown(() => broker.close?.())
  const received: Message[] = []
  await broker.subscribe('mx.registry.events', (message) => void received.push(message))
  const otherHost: Message[] = []
  await broker.subscribe('acme.registry.events', (message) => void otherHost.push(message))
  const { call } = await openPlatformRegistry(t, { broker })
  await waitUntil(() => received.length === 1)
  await call('Register', toRegistration('greeter', ['10.0.0.1:1']))
  await call('Deregister', toRegistration('greeter', ['10.0.0.1:1']))
  await call('Register', toRegistration('other', ['10.0.0.1:1'], { options: { domain: 'acme' } }))
  await waitUntil(() => received.length === 3 && otherHost.length === 1)
  const events = received.map(({ body }) => JSON.parse(Buffer.from(body).toString()) as WatchEvent)
  t.match(events, [
    { action: 'create', service: { name: 'registry' } },
    { action: 'create', service: { name: 'greeter', nodes: [{ address: '10.0.0.1:1' }] } },
    { action: 'delete', service: { name: 'greeter', nodes: [] }, timestamp: 0 },
  ])
  t.same(
    { ...received[0]!.headers },
    {
      'content-type': 'application/json',
      'mx-topic': 'mx.registry.events',
      'mx-namespace': 'mx',
    },
  )
})

t.test('a failing broker is logged once, and later changes are published', async (t) => {
  const { log, lines } = createQuietLog('registry')
  let isUnavailable = true
  const topics: string[] = []
  const broker = {
    publish(topic: string) {
      if (isUnavailable) throw brokerUnavailable(new Error('no'))
      topics.push(topic)
    },
  }
  const { call } = await openPlatformRegistry(t, { broker, log })
  const warnings = (): string[] =>
    lines.filter((line) => line.includes('cannot publish registry changes'))
  await waitUntil(() => warnings().length === 1)
  await call('Register', toRegistration('a', ['10.0.0.1:1']))
  await call('Register', toRegistration('b', ['10.0.0.1:1']))
  isUnavailable = false
  await call('Register', toRegistration('c', ['10.0.0.1:1']))
  await waitUntil(() => topics.length > 0)
  t.equal(warnings().length, 1)
})

t.test(
  'publishing restarts with a warning after missed changes, until the registry is closed',
  async (t) => {
    const { log, lines } = createQuietLog('registry')
    const event = { service: { options: { domain: 'mx' } } } as WatchEvent
    let opened = 0
    let hasEnded = false
    const watches = {
      closed() {
        hasEnded = opened > 2
        return hasEnded
      },
      async *open() {
        opened++
        if (opened === 2) yield event
        throw new Error('too slow')
      },
    } as unknown as Watches
    const topics: string[] = []
    publishChanges(watches, { publish: (topic) => void topics.push(topic) }, log, 1)
    await waitUntil(() => hasEnded)
    t.same([opened, topics], [3, ['mx.registry.events']])
    t.equal(lines.length, 2)
    t.match(lines[0], /registry changes were missed/)
  },
)
