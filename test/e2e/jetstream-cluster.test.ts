// Specification and docs/events.md: with three replicas, a cluster survives the kill of one server at any time.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { createJetStreamEvents, type JetStreamEvents } from '../../adapters/events/jetstream.ts'
import { parseNatsUrl } from '../../adapters/nats/url.ts'
import { JET_TOPIC, toAppends } from '../fixtures/jetstream.ts'
import { type NatsServer, startNatsServer } from '../fixtures/nats.ts'
import { skipUnless } from '../fixtures/servers.ts'

const SERVERS = 3
const BATCH = 50
/** Number of events before the kill, before the restart, and in total. */
const STEPS = [2000, 6000, 10_000] as const
t.setTimeout(120_000)

/** Below the ephemeral ports, so that no concurrent test is assigned the port. */
async function findPort(): Promise<number> {
  for (;;) {
    const port = 10_000 + randomInt(20_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

async function startCluster(t: Test): Promise<readonly NatsServer[] | undefined> {
  const program = skipUnless(t, 'nats-server')
  if (program === undefined) return undefined
  const ports = await Promise.all(Array.from({ length: SERVERS }, findPort))
  const routes = ports.map((port) => `nats-route://127.0.0.1:${port}`).join(', ')
  const servers = await Promise.all(
    ports.map((port, i) =>
      startNatsServer(program, {
        jetStream: true,
        settings: [
          `server_name: server${i}`,
          `cluster { name: test, listen: "127.0.0.1:${port}", routes: [${routes}] }`,
        ],
      }),
    ),
  )
  t.teardown(() => Promise.all(servers.map((server) => server.close())))
  return servers
}

/** Resolves when the cluster has elected a leader. */
async function waitForLeader(events: JetStreamEvents): Promise<void> {
  for (;;) {
    const [outcome] = await events.append(toAppends('first'))
    if (outcome === 1) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

t.test('SIGKILL of one of three servers', async (t) => {
  const servers = await startCluster(t)
  if (servers === undefined) return
  const hosts = servers.map(({ host, port }) => `${host}:${port}`).join(',')
  const events = createJetStreamEvents({
    address: parseNatsUrl(`nats://${hosts}`),
    replicas: SERVERS,
    onWarning() {},
  })
  t.teardown(() => events.close?.())
  await waitForLeader(events)
  const group = { name: 'group', start: { sequence: 1 }, ackWaitMs: 2000 }
  const member = await events.join(JET_TOPIC, group)
  const stored = new Map<number, string>()
  const acked = new Set<number>()
  /** Events are not redelivered if the server processed their acknowledgement before the kill. */
  const unconfirmed = new Set<number>()
  let redelivered = 0
  let hasEnded = false

  async function publishTo(count: number): Promise<void> {
    while (stored.size < count) {
      const batch = toAppends(...Array.from({ length: BATCH }, () => 'x'))
      const outcomes = await events.append(batch)
      for (const [i, outcome] of outcomes.entries())
        if (typeof outcome === 'number') stored.set(outcome, batch[i]!.event.id)
      // Failures are immediate.
      await new Promise(setImmediate)
    }
  }

  async function consume(): Promise<void> {
    for (;;) {
      const deliveries = await member.pull(64, 1e6)
      if (hasEnded) return
      for (const { event } of deliveries) if (acked.has(event.sequence)) redelivered++
      await Promise.all(
        deliveries.map(async (delivery) => {
          await Promise.resolve(delivery.ack()).then(
            () => acked.add(delivery.event.sequence),
            () => unconfirmed.add(delivery.event.sequence),
          )
        }),
      )
    }
  }

  const consuming = consume()
  await publishTo(STEPS[0])
  // The server with the connection.
  await servers[0]!.kill()
  await publishTo(STEPS[1])
  await servers[0]!.start()
  await publishTo(STEPS[2])
  const { last } = (await events.listTopics())[0]!
  while ((await events.listGroups!(JET_TOPIC))[0]!.acked < last)
    await new Promise((resolve) => setTimeout(resolve, 20))
  hasEnded = true
  await member.leave()
  await consuming

  const ids = new Map<number, string>()
  for (let from: number | undefined = 1; from !== undefined; ) {
    const slice = await events.read(JET_TOPIC, { from, limit: 5000, maxBytes: 1e7 })
    for (const { sequence, id } of slice.events) ids.set(sequence, id)
    from = slice.next
  }
  const lost = [...stored].filter(([sequence, id]) => ids.get(sequence) !== id)
  t.same(lost, [], 'every acknowledged event exists')
  t.equal(new Set(ids.values()).size, last, 'no event is stored twice')
  t.equal(redelivered, 0, 'no acknowledged event was redelivered')
  const missing = [...ids.keys()].filter(
    (sequence) => !acked.has(sequence) && !unconfirmed.has(sequence),
  )
  t.same(missing, [], 'the group received all events')
})
