import { createMemoryBroker } from '../../adapters/broker/memory.ts'
import { createNatsBroker } from '../../adapters/broker/nats.ts'
import { parseNatsUrl } from '../../adapters/nats/url.ts'
import { type CheckedBroker, createBroker } from '../../domain/broker/broker.ts'
import { createPlatformBroker } from '../../sdk/broker/platform-broker.ts'
import { Client } from '../../sdk/client/client.ts'
import { createServiceLog } from '../../sdk/log/service-log.ts'
import { createBrokerService } from '../../services/broker/service.ts'
import { type Contestant, HEADERS, TOPIC } from './contestant.ts'

/** Opens the in-memory broker. */
export async function openMemory(): Promise<Contestant> {
  const broker = createBroker(createMemoryBroker())
  return toContestant('mx, memory', broker, broker, async () => {})
}

/** Opens the NATS adapter, with one connection for publishing and one for subscribing. */
export async function openNats(port: number): Promise<Contestant> {
  const address = parseNatsUrl(`nats://127.0.0.1:${port}`)
  const [publisher, subscriber] = [
    createBroker(createNatsBroker({ address })),
    createBroker(createNatsBroker({ address })),
  ]
  return toContestant('mx, NATS', publisher, subscriber, async () => {})
}

/** Opens the `broker` service, called over sockets. */
export async function openService(): Promise<Contestant> {
  const checked = createBroker(createMemoryBroker())
  const { service, close } = createBrokerService({
    broker: checked,
    address: '127.0.0.1:0',
    log: createServiceLog({ service: 'broker', write: () => {} }),
  })
  const address = await service.start()
  const clients = [0, 1].map(() => new Client({ address, inProcess: false }))
  const [publisher, subscriber] = clients.map((client) =>
    createBroker(createPlatformBroker({ client })),
  )
  return toContestant('mx, service over sockets', publisher!, subscriber!, async () => {
    for (const client of clients) client.close()
    await close()
    await checked.close?.()
  })
}

function toContestant(
  name: string,
  publisher: CheckedBroker,
  subscriber: CheckedBroker,
  close: () => Promise<void>,
): Contestant {
  return {
    name,
    publish: (body) => publisher.publish(TOPIC, { headers: HEADERS, body }),
    async subscribe(onMessage) {
      await subscriber.subscribe(TOPIC, ({ body }) => onMessage(body))
    },
    async close() {
      await publisher.close?.()
      await subscriber.close?.()
      await close()
    },
  }
}
