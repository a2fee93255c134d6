import { Agent, request } from 'node:http'

export interface LoadFigures {
  readonly sent: number
  /** Number of requests that failed: status 500 or above, a lost connection, or no response within the time limit. */
  readonly failed: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const LIMIT_MS = 5000

/**
 * Sends requests at a fixed rate. Every tenth is a POST, which no proxy retries.
 *
 * @param at actions by time in milliseconds.
 */
export async function runLoad(
  port: number,
  perSecond: number,
  durationMs: number,
  at: readonly (readonly [ms: number, action: () => void])[],
): Promise<LoadFigures> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1024, scheduling: 'fifo' })
  const latencies: number[] = []
  let sent = 0
  let failed = 0
  const pending = new Set<Promise<void>>()
  const send = (): Promise<void> =>
    new Promise((resolve) => {
      const method = sent % 10 === 9 ? 'POST' : 'GET'
      const startMs = performance.now()
      const end = (isFailure: boolean): void => {
        if (isFailure) failed++
        latencies.push(performance.now() - startMs)
        resolve()
      }
      const call = request({ host: '127.0.0.1', port, agent, method, path: '/shop/' }, (reply) => {
        reply.resume()
        reply.on('end', () => end(reply.statusCode! >= 500))
        reply.on('error', () => end(true))
      })
      call.setTimeout(LIMIT_MS, () => call.destroy(new Error('timeout')))
      call.on('error', () => end(true))
      call.end(method === 'POST' ? 'body' : undefined)
    })
  const startMs = performance.now()
  const actions = [...at]
  const total = Math.round((durationMs / 1000) * perSecond)
  while (sent < total) {
    const nowMs = performance.now() - startMs
    while (actions[0] !== undefined && nowMs >= actions[0][0]) actions.shift()![1]()
    for (; sent < total && sent < (nowMs / 1000) * perSecond; sent++) {
      const each = send()
      pending.add(each)
      void each.then(() => pending.delete(each))
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(pending)
  agent.destroy()
  latencies.sort((a, b) => a - b)
  const quantile = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))]!
  return { sent, failed, p50Ms: quantile(0.5), p99Ms: quantile(0.99) }
}
