import { Agent, request } from 'node:http'
import { startConsulAgent } from '../registry/processes/consul-agent.ts'
import type { Contestant } from './contestant.ts'

/** Number of connections, below the agent's limit of 200 per client address. */
const CONNECTIONS = 100

/** Starts a Consul agent as a single-node cluster, and uses its key-value store over keep-alive connections. */
export async function openConsul(program: string): Promise<Contestant> {
  const { host, port, stop } = await startConsulAgent({ program })
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })

  function call(method: string, key: string, body?: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const sent = request({ agent, host, port, method, path: `/v1/kv/${key}?raw` }, (reply) => {
        let text = ''
        reply.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        reply.on('end', () =>
          reply.statusCode === 200 ? resolve(text) : reject(new Error(`${method}: ${text}`)),
        )
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  return {
    name: 'consul, key-value store',
    set: (key, value) => call('PUT', key, value),
    get: (key) => call('GET', key),
    async close() {
      agent.destroy()
      await stop()
    },
  }
}
