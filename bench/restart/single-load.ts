import { get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** What became of requests that had a connection each. */
export interface SingleResult {
  readonly sent: number
  /** By status or code of the error; `200` are the good ones. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly slowestMs: number
}

/** Sends requests at a constant rate, each over a connection of its own, until it is told to end; then waits for the last reply. */
export async function runSingleLoad(
  url: string,
  rate: number,
  signal: AbortSignal,
): Promise<SingleResult> {
  const outcomes: Record<string, number> = {}
  let slowestMs = 0
  const one = async (): Promise<void> => {
    const startMs = performance.now()
    const outcome = await request(url)
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    slowestMs = Math.max(slowestMs, performance.now() - startMs)
  }
  const running: Promise<void>[] = []
  const startMs = performance.now()
  while (!signal.aborted) {
    const due = ((performance.now() - startMs) * rate) / 1000
    while (running.length < due) running.push(one())
    await delay(1)
  }
  await Promise.all(running)
  return { sent: running.length, outcomes, slowestMs }
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
