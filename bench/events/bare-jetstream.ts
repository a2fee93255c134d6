import { type Consumer, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import type { Contestant } from './contestant.ts'

const STREAM = 'bare'

/** Opens a connection with the bare NATS JetStream client library. */
export async function openBareJetStream(port: number): Promise<Contestant> {
  const connection = await connect({ servers: `127.0.0.1:${port}` })
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: STREAM, subjects: [STREAM] })
  const client = jetstream(connection)

  async function receive(count: number, consumer: Consumer, acks: boolean): Promise<number> {
    let remaining = count
    let bytes = 0
    for await (const message of await consumer.consume({ max_messages: 1000 })) {
      bytes += message.data.length
      if (acks) message.ack()
      if (--remaining === 0) break
    }
    return bytes
  }

  return {
    name: 'JetStream, its client',
    publish: (payload) => client.publish(STREAM, payload),
    replay: async (count) => receive(count, await client.consumers.get(STREAM), false),
    async consume(count) {
      await manager.consumers.add(STREAM, { durable_name: 'bench', ack_policy: 'explicit' })
      return receive(count, await client.consumers.get(STREAM, 'bench'), true)
    },
    close: () => connection.close(),
  }
}
