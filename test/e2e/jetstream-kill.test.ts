// Specification and docs/events.md: NATS killed at any time under load loses no acknowledged events and no
// acknowledgements of groups. `MX_KILLS=50` kills more often.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { createJetStreamEvents } from '../../adapters/events/jetstream.ts'
import { parseNatsUrl } from '../../adapters/nats/url.ts'
import type {
  EventMember,
  EventsAdapter,
  EventTopic,
  NewEvent,
} from '../../core/contracts/events.ts'
import { GatewayError } from '../../core/errors.ts'
import { startNats } from '../fixtures/nats.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'

const KILLS = Number(process.env['MX_KILLS'] ?? 8)
t.setTimeout(60_000 + KILLS * 5000)
/** Kills happen within this time after the start of the server. */
const MAX_LIFE_MS = 600
const TOPIC: EventTopic = { namespace: 'mx', topic: 'orders' }
const GROUP = { name: 'group', start: { sequence: 1 }, ackWaitMs: 1000 }
/** Age from which an acknowledgement cannot be in flight anymore. */
const ON_ITS_WAY_MS = 200

t.test('SIGKILL of NATS under load', async (t) => {
  const server = await startNats(t, { jetStream: true })
  if (server === undefined) return
  const address = parseNatsUrl(server.url)
  const open = (): EventsAdapter => {
    const adapter = createJetStreamEvents({ address, onWarning() {} })
    t.teardown(() => adapter.close?.())
    return adapter
  }
  const [left, right] = [open(), open()]
  /** Ids of acknowledged events by sequence. */
  const stored = new Map<number, string>()
  /** Times at which acknowledgements of the group settled. */
  const acked = new Map<number, number>()
  const pulled = new Set<number>()
  const codes = new Set<number>()
  let unknown = 0
  let redelivered = 0
  let duplicates = 0
  let hasEnded = false
  let isDone = false

  async function publish(adapter: EventsAdapter): Promise<void> {
    while (!hasEnded) {
      const events = Array.from({ length: 50 }, make)
      const outcomes = await Promise.resolve(
        adapter.append(events.map((event) => ({ topic: TOPIC, event }))),
      ).catch((error: GatewayError) => events.map(() => error))
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome instanceof GatewayError) {
          codes.add(outcome.code)
          unknown++
        } else {
          if (stored.has(outcome)) duplicates++
          stored.set(outcome, events[index]!.id)
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }

  async function consume(member: EventMember): Promise<void> {
    while (!isDone) {
      const nowMs = performance.now()
      for (const delivery of await member.pull(64, 1e6)) {
        const { sequence } = delivery.event
        pulled.add(sequence)
        const ackedAtMs = acked.get(sequence)
        if (ackedAtMs !== undefined && ackedAtMs < nowMs - ON_ITS_WAY_MS) redelivered++
        Promise.resolve(delivery.ack()).then(
          () => acked.set(sequence, performance.now()),
          (error: GatewayError) => codes.add(error.code),
        )
      }
    }
  }

  const members = [await left.join(TOPIC, GROUP), await right.join(TOPIC, GROUP)]
  const consuming = Promise.all(members.map(consume))
  const publishing = Promise.all([publish(left), publish(right)])
  for (let kill = 0; kill < KILLS; kill++) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * MAX_LIFE_MS))
    await server.kill()
    await server.start()
  }
  // The last outage has ended once an event is stored again.
  const { size } = stored
  await waitUntil(() => stored.size > size)
  hasEnded = true
  await publishing
  const isDelivered = async (): Promise<boolean> => {
    const [topic] = await left.listTopics()
    const [group] = await left.listGroups!(TOPIC)
    return group!.acked === topic!.last && group!.pending === 0
  }
  // The server may still be unavailable.
  while (!(await isDelivered().catch(() => false)))
    await new Promise((resolve) => setTimeout(resolve, 50))
  isDone = true
  await Promise.all(members.map((member) => member.leave()))
  await consuming

  const ids = new Map<number, string>()
  let from: number | undefined = 1
  while (from !== undefined) {
    const { events, next } = await left.read(TOPIC, { from, limit: 5000, maxBytes: 1e7 })
    for (const { sequence, id } of events) ids.set(sequence, id)
    from = next
  }
  const missing = [...stored].filter(([sequence, id]) => ids.get(sequence) !== id)
  t.same(missing, [], 'every acknowledged event exists with its sequence')
  t.equal(new Set(ids.values()).size, ids.size, 'no event is stored twice')
  t.equal(duplicates, 0, 'no sequence is assigned twice')
  t.same(
    [...ids.keys()],
    Array.from({ length: ids.size }, (_, i) => i + 1),
    'no sequence is missing',
  )
  t.equal(redelivered, 0, 'no acknowledged event was redelivered')
  t.same(
    [...ids.keys()].filter((sequence) => !pulled.has(sequence)),
    [],
    'the group received all events',
  )
  t.same(
    [...codes].filter((code) => code !== 503),
    [],
    'publishing during the outage fails with 503',
  )
  t.comment(
    `${stored.size} events acknowledged, ${unknown} rejected, ${ids.size} stored; ${KILLS} kills`,
  )
})

function make(): NewEvent {
  return {
    id: randomUUID(),
    timestampMs: Date.now(),
    metadata: {},
    payload: Buffer.alloc(100),
  }
}
