import { join } from 'node:path'
import t from 'tap'
import type { EventsAdapter } from '../../../../core/contracts/events.ts'
import { createEvents } from '../../../../domain/events/events.ts'
import { openEvents } from '../../../../platform/server/open/events.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { startNats } from '../../../fixtures/nats.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

t.setTimeout(120_000)

const TOPIC = { namespace: 'mx', topic: 'a' }

const warnings: string[] = []

function open(events: string, folder: string, eventsReplicas = 1): Promise<EventsAdapter> {
  const settings = { events, eventsReplicas, storeSync: 'os' } as const
  return openEvents({ settings, folder, onWarning: (message) => warnings.push(message) })
}

/** Publishes an event and returns its sequence. */
async function publish(adapter: EventsAdapter): Promise<number> {
  const events = createEvents(adapter)
  const { sequence } = await events.publish(TOPIC, { payload: Buffer.from('x') })
  await events.close()
  return sequence
}

t.test('opens the configured event storage', async (t) => {
  const folder = join(makeTempFolder(t, 'events'), 'events')
  t.equal(await publish(await open('memory', folder)), 1)
  t.equal(await publish(await open('lmdb', folder)), 1)
  t.equal(await publish(await open('lmdb', folder)), 2, 'events are stored in the folder')
})

t.test('stores events in JetStream of a NATS server', async (t) => {
  const server = await startNats(t, { jetStream: true })
  if (server === undefined) return
  t.equal(await publish(await open(server.url, '')), 1)
  t.equal(await publish(await open(server.url, '')), 2)
})

t.test(
  'reports an unreachable server, or one without JetStream, without its password',
  async (t) => {
    await t.rejects(
      open('nats://u:secret@127.0.0.1:1', ''),
      /^the event storage nats:\/\/\[hidden\]@127\.0\.0\.1:1 is not available: [^\n]*127\.0\.0\.1:1: connection refused$/,
    )
    t.same(warnings, [], 'logged once')
    const server = await startNats(t)
    if (server === undefined) return
    await t.rejects(
      open(server.url, ''),
      /^the event storage nats:[^\n]* is not available: jetstream is not enabled$/,
    )
  },
)

t.test('rejects replicas on a server without a cluster at startup', async (t) => {
  const server = await startNats(t, { jetStream: true })
  if (server === undefined) return
  await t.rejects(
    open(server.url, '', 3),
    /^the event storage nats:[^\n]* is not available: 3 replicas require a cluster, but the server is not part of one$/,
  )
})

t.test('logs outage and recovery of the server once each', async (t) => {
  const server = await startNats(t, { jetStream: true })
  if (server === undefined) return
  const adapter = await open(server.url, '')
  t.teardown(() => adapter.close?.())
  warnings.length = 0
  await server.kill()
  await waitUntil(() => warnings.length > 0)
  await server.start()
  await waitUntil(() => warnings.length > 1)
  t.match(warnings, [
    /^events: NATS at [^ ]+ is unreachable: /,
    /^events: NATS at [^ ]+ is reachable again after /,
  ])
  t.equal(warnings.length, 2)
})
