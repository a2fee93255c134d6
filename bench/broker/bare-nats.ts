import { connect, headers as createHeaders } from '@nats-io/transport-node'
import { type Contestant, HEADERS, TOPIC } from './contestant.ts'

/** Opens a connection with the bare NATS client library. */
export async function openBareNats(port: number): Promise<Contestant> {
  const servers = `127.0.0.1:${port}`
  const [publisher, subscriber] = [await connect({ servers }), await connect({ servers })]
  return {
    name: 'NATS, its client',
    publish(body) {
      const headers = createHeaders()
      for (const [name, value] of Object.entries(HEADERS)) headers.append(name, value)
      publisher.publish(TOPIC, body, { headers })
    },
    async subscribe(onMessage) {
      subscriber.subscribe(TOPIC, {
        callback(_, message) {
          // The client parses headers lazily, but a real subscriber reads the content type.
          message.headers?.get('content-type')
          onMessage(message.data)
        },
      })
      await subscriber.flush()
    },
    async close() {
      await publisher.close()
      await subscriber.close()
    },
  }
}
