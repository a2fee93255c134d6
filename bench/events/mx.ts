import { createJetStreamEvents } from '../../adapters/events/jetstream.ts'
import { createLmdbEvents } from '../../adapters/events/lmdb.ts'
import { parseNatsUrl } from '../../adapters/nats/url.ts'
import type { EventsAdapter } from '../../core/contracts/events.ts'
import { Client } from '../../sdk/client/client.ts'
import { createEvents, type EventsConsumeOptions } from '../../sdk/events/events.ts'
import { createServiceLog } from '../../sdk/log/service-log.ts'
import { createEventsService } from '../../services/events/service.ts'
import type { Contestant, EventsGoals } from './contestant.ts'

const TOPIC = 'bench'
/** Maximum events in flight, as for the NATS client. */
const IN_FLIGHT = 1000

const GOALS: EventsGoals = { publishedPerSecond: 30_000, replayedPerSecond: 200_000 }

/** Opens the `events` service on a file. */
export function openLmdb(folder: string, sync: 'os' | 'always'): Promise<Contestant> {
  return open(`mx, lmdb, sync ${sync}`, createLmdbEvents({ folder, sync }), GOALS)
}

/** Opens the `events` service on JetStream. */
export function openJetStream(port: number): Promise<Contestant> {
  const address = parseNatsUrl(`nats://127.0.0.1:${port}`)
  return open('mx, JetStream', createJetStreamEvents({ address }))
}

/** Opens the `events` service, called through the SDK within the process. */
async function open(
  name: string,
  adapter: EventsAdapter,
  goals?: EventsGoals,
): Promise<Contestant> {
  const { service, close } = createEventsService({
    adapter,
    address: '127.0.0.1:0',
    log: createServiceLog({ service: 'events', write: () => {} }),
  })
  await service.start()
  const client = new Client({ services: [service] })
  const events = createEvents(client)

  async function receive(count: number, options: EventsConsumeOptions): Promise<number> {
    let remaining = count
    let bytes = 0
    for await (const { payload } of events.consume(TOPIC, { offset: 1, ...options })) {
      bytes += payload.length
      if (--remaining === 0) break
    }
    return bytes
  }

  return {
    name,
    ...(goals && { goals }),
    publish: (payload) => events.publish(TOPIC, payload),
    replay: (count) => receive(count, {}),
    consume: (count) => receive(count, { group: 'bench', maxInFlight: IN_FLIGHT }),
    async close() {
      client.close()
      await close()
    },
  }
}
