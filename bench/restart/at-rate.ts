import { setTimeout as delay } from 'node:timers/promises'

/** Number of requests per outcome. */
export interface Outcomes {
  readonly sent: number
  /** By status or error code; `200` for success. */
  readonly outcomes: Readonly<Record<string, number>>
}

/** Sends requests at a constant rate until the signal aborts, and then waits for pending requests. */
export async function sendAtRate(
  rate: number,
  signal: AbortSignal,
  send: (n: number) => Promise<string>,
): Promise<Outcomes> {
  const outcomes: Record<string, number> = {}
  const sendOne = async (n: number): Promise<void> => {
    const outcome = await send(n)
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  }
  const running: Promise<void>[] = []
  const startMs = performance.now()
  while (!signal.aborted) {
    const due = ((performance.now() - startMs) * rate) / 1000
    while (running.length < due) running.push(sendOne(running.length))
    await delay(1)
  }
  await Promise.all(running)
  return { sent: running.length, outcomes }
}
