import { definePlugin, GatewayError, type PluginDefinition, Type } from 'mx-gateway'

/** Key under which an exchange remembers whose request it is. */
const CLIENT = Symbol('concurrency-limit client')

/**
 * Serves so many requests of one client at a time; one more is answered 429 (RFC 6585 §4).
 *
 * Put it behind `forwarded`: behind a trusted proxy, all clients would else count as one.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'concurrency-limit',
  description: 'Limits how many requests of one client are served at a time.',
  options: Type.Object({
    requests: Type.Integer({
      default: 20,
      minimum: 1,
      description: 'Requests of one client at a time.',
    }),
    retryAfterSeconds: Type.Integer({
      default: 1,
      minimum: 1,
      description: 'What a refused client is told.',
    }),
  }),
  create({ requests, retryAfterSeconds }) {
    const running = new Map<string, number>()
    const tooMany = new GatewayError(
      'concurrency-limit',
      429,
      `only ${requests} requests at a time are served`,
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
      // Runs for every exchange, also for those refused above and for clients that left.
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
