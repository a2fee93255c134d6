import { Agent, request } from 'node:http'

/** Results for one path. */
export interface PathFigures {
  readonly sent: number
  /** Number of responses with status 200 within the time limit. */
  readonly successful: number
  /** 99th percentile of the latency of good responses. */
  readonly p99Ms: number
}

/** Timeout of a request. */
const LIMIT_MS = 1000

/** Sends requests to paths at fixed rates in an open loop. @param perSecond rates by path */
export async function runLoad(
  port: number,
  perSecond: Readonly<Record<string, number>>,
  durationMs: number,
): Promise<Readonly<Record<string, PathFigures>>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4096, scheduling: 'fifo' })
  const pending = new Set<Promise<void>>()
  const paths = Object.entries(perSecond).map(([path, rate]) => ({
    ...{ path, rate, sent: 0, times: [] as number[] },
  }))
  const send = (path: string, times: number[]): Promise<void> =>
    new Promise((resolve) => {
      const startMs = performance.now()
      const call = request({ host: '127.0.0.1', port, agent, path }, (reply) => {
        reply.resume()
        reply.on('end', () => {
          if (reply.statusCode === 200) times.push(performance.now() - startMs)
          resolve()
        })
        reply.on('error', () => resolve())
      })
      call.setTimeout(LIMIT_MS, () => call.destroy(new Error('timeout')))
      call.on('error', () => resolve())
      call.end()
    })
  const startMs = performance.now()
  for (let nowMs = 0; nowMs < durationMs; nowMs = performance.now() - startMs) {
    for (const each of paths)
      for (; each.sent < (nowMs / 1000) * each.rate; each.sent++) {
        const call = send(each.path, each.times)
        pending.add(call)
        void call.then(() => pending.delete(call))
      }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(pending)
  agent.destroy()
  return Object.fromEntries(
    paths.map(({ path, sent, times }) => {
      const sorted = times.toSorted((a, b) => a - b)
      const p99Ms = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
      return [path, { sent, successful: times.length, p99Ms }]
    }),
  )
}
