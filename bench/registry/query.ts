import { setTimeout as wait } from 'node:timers/promises'

/** What one call was answered. */
export interface Answer {
  /** 0: nothing. */
  readonly status: number
  /** Of the process that answered; 0: none did. */
  readonly pid: number
}

const LIMIT_MS = 60_000
const PAUSE_MS = 2

/** Asks again and again. @returns milliseconds until the answer that is wanted came; NaN: it never did. */
export async function untilAnswer(
  url: string,
  isWanted: (answer: Answer) => boolean,
  limitMs: number = LIMIT_MS,
): Promise<number> {
  const startMs = performance.now()
  while (performance.now() - startMs < limitMs) {
    if (isWanted(await get(url))) return performance.now() - startMs
    await wait(PAUSE_MS)
  }
  return Number.NaN
}

async function get(url: string): Promise<Answer> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) })
    const body = (await reply.json()) as { readonly pid?: number }
    return { status: reply.status, pid: body.pid ?? 0 }
  } catch {
    return { status: 0, pid: 0 }
  }
}
