import { get } from 'node:http'
import { type Outcomes, sendAtRate } from './at-rate.ts'

/** What became of requests that had a connection each. */
export interface SingleResult extends Outcomes {
  readonly slowestMs: number
}

/** Sends requests at a constant rate, each over a connection of its own, until it is told to end; then waits for the last reply. */
export async function runSingleLoad(
  url: string,
  rate: number,
  signal: AbortSignal,
): Promise<SingleResult> {
  let slowestMs = 0
  const result = await sendAtRate(rate, signal, async () => {
    const startMs = performance.now()
    const outcome = await request(url)
    slowestMs = Math.max(slowestMs, performance.now() - startMs)
    return outcome
  })
  return { ...result, slowestMs }
}

/** The status, or why there is none. */
function request(url: string): Promise<string> {
  return new Promise((resolve) => {
    const fail = ({ code, message }: NodeJS.ErrnoException): void => resolve(code ?? message)
    get(url, { agent: false }, (reply) => {
      reply.resume().on('error', fail)
      reply.on('end', () => resolve(String(reply.statusCode)))
    }).on('error', fail)
  })
}
