import { setTimeout as wait } from 'node:timers/promises'

/** Response of a call. */
export interface QueryResult {
  /** Status; 0 without a response. */
  readonly status: number
  /** Id of the responding process; 0 without a response. */
  readonly pid: number
}

const LIMIT_MS = 60_000
const PAUSE_MS = 2

/** Calls repeatedly until a response matches. @returns elapsed time in milliseconds; NaN on timeout. */
export async function waitForResponse(
  url: string,
  matches: (result: QueryResult) => boolean,
  limitMs: number = LIMIT_MS,
): Promise<number> {
  const startMs = performance.now()
  while (performance.now() - startMs < limitMs) {
    if (matches(await call(url))) return performance.now() - startMs
    await wait(PAUSE_MS)
  }
  return Number.NaN
}

async function call(url: string): Promise<QueryResult> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) })
    const body = (await reply.json()) as { readonly pid?: number }
    return { status: reply.status, pid: body.pid ?? 0 }
  } catch {
    return { status: 0, pid: 0 }
  }
}
