import { definePlugin, GatewayError, type PluginDefinition, Type } from 'mx-gateway'

/** Key of the client in the state of an exchange. */
const CLIENT = Symbol('concurrency-limit client')

/**
 * Limits the concurrent requests of a client; further requests are rejected with 429 (RFC 6585 §4).
 *
 * List it after `forwarded`: otherwise all clients of a trusted proxy count as one client.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'concurrency-limit',
  description: 'Limits the concurrent requests of each client.',
  options: Type.Object({
    requests: Type.Integer({
      default: 20,
      minimum: 1,
      description: 'Maximum number of concurrent requests of a client.',
    }),
    retryAfterSeconds: Type.Integer({
      default: 1,
      minimum: 1,
      description: 'Value of the header Retry-After in seconds.',
    }),
  }),
  create({ requests, retryAfterSeconds }) {
    const running = new Map<string, number>()
    const tooMany = new GatewayError(
      'concurrency-limit',
      429,
      `too many concurrent requests, the limit is ${requests}`,
      {
        headers: ['retry-after', String(retryAfterSeconds)],
      },
    )
    return {
      onRequest(x) {
        const client = x.clientAddress
        const count = running.get(client) ?? 0
        if (count >= requests) throw tooMany
        running.set(client, count + 1)
        x.state.set(CLIENT, client)
      },
      // Runs for every exchange, including rejected ones and disconnected clients.
      onDone(x) {
        const client = x.state.get(CLIENT) as string | undefined
        if (client === undefined) return
        const left = running.get(client)! - 1
        if (left > 0) running.set(client, left)
        else running.delete(client)
      },
    }
  },
})

export default plugin
