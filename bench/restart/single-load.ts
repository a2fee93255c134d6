import { get } from 'node:http'
import { type Outcomes, sendAtRate } from './at-rate.ts'

/** Result of a load with one connection per request. */
export interface SingleResult extends Outcomes {
  readonly slowestMs: number
}

/**
 * Sends requests at a constant rate, each over its own connection, until the signal aborts, and then waits for pending
 * requests.
 */
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

/** Resolves with the status or an error code. */
function request(url: string): Promise<string> {
  return new Promise((resolve) => {
    const fail = ({ code, message }: NodeJS.ErrnoException): void => resolve(code ?? message)
    get(url, { agent: false }, (reply) => {
      reply.resume().on('error', fail)
      reply.on('end', () => resolve(String(reply.statusCode)))
    }).on('error', fail)
  })
}
